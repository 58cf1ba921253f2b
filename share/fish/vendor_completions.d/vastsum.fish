# fish completion for vastsum: the program itself says what may follow.
set -l ask "env _VASTSUM_COMPLETE=complete_fish _TYPER_COMPLETE_ARGS=(commandline -cp)"
complete --command vastsum --no-files --arguments "($ask _TYPER_COMPLETE_FISH_ACTION=get-args vastsum)" --condition "$ask _TYPER_COMPLETE_FISH_ACTION=is-args vastsum"
