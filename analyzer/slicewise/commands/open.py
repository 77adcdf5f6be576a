"""Look at pages in a browser, from a folder of them."""

from __future__ import annotations

import contextlib
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from slicewise.running.page_server import PageServer


def open(
    place: Annotated[Path, typer.Argument(metavar="[DIR]", help="A directory with pages, or a page.")] = Path("."),
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="0: any that is free.")] = 0,
    browser: Annotated[bool, typer.Option(help="Start a browser with it.")] = True,
) -> None:
    """Show a folder's pages in a browser. They are served on this machine alone, until Ctrl-C.

    From another machine: ssh -L PORT:127.0.0.1:PORT NODE, and then the printed address. Its random part is a key: who
    has it can read the pages.

    Example: slicewise open slicewise
    """
    with PageServer(place, port) as server:
        typer.echo(f"slicewise: {server.address}   (Ctrl-C ends it)")
        if browser:
            with contextlib.suppress(webbrowser.Error):
                webbrowser.open(server.address)
        server.serve_forever()
