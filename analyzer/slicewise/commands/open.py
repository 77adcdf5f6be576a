"""Look at pages in a browser, from a folder of them."""

import contextlib
import webbrowser
from pathlib import Path

from slicewise.running.page_server import PageServer


def open(place: Path, port: int, browser: bool) -> None:
    with PageServer(place, port) as server:
        print(f"slicewise: {server.address}   (Ctrl-C ends it)")
        if browser:
            with contextlib.suppress(webbrowser.Error):
                webbrowser.open(server.address)
        server.serve_forever()
