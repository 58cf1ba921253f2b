"""vastsum serve"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from vastsum.cli.console import results, shown
from vastsum.errors import MissingExtraError

DEFAULT_DATA = Path("~/.vastsum")


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; all but loopback need --token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8000,
    library: Annotated[
        Path | None, typer.Option(help="Folder of videos to choose from. Files outside it cannot be read.")
    ] = None,
    token: Annotated[
        str | None, typer.Option(envvar="VASTSUM_TOKEN", help="Secret that users of the studio must enter.")
    ] = None,
    data: Annotated[Path, typer.Option(help="Folder for uploads, jobs and results.")] = DEFAULT_DATA,
    models: Annotated[Path | None, typer.Option(help="Folder with additional scorers (.onnx).")] = None,
    name: Annotated[
        list[str] | None, typer.Option("--name", help="Additional host name that browsers may use.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Videos processed in parallel.")] = 1,
    queue: Annotated[int, typer.Option(min=1, help="Maximum number of queued videos.")] = 100,
    max_upload: Annotated[float, typer.Option(min=0.001, help="Maximum upload size in GiB.")] = 20.0,
) -> None:
    """Start the studio: summarise videos in the browser, edit the selection, compare, export."""
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(error.name or "fastapi", "serve") from error
    from vastsum.serve.app import serve as run
    from vastsum.serve.config import GIB, StudioSettings

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    settings = StudioSettings(
        data=data.expanduser(),
        host=host,
        port=port,
        library=library,
        models=models,
        token=token,
        names=tuple(name or ()),
        workers=workers,
        max_queued=queue,
        max_upload_bytes=int(max_upload * GIB),
    )
    results.print(f"the studio opens at [bold]{shown(settings.url)}[/]   (Ctrl-C ends it)", soft_wrap=True)
    run(settings)
