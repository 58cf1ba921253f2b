"""Training loop, checkpoints and runs."""
