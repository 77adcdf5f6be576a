"""A hook of mkdocs: pages load nothing from the network. The theme's offline plugin asks unpkg.com for what lets the
search run from file://; our own few lines do that.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

REMOTE = re.compile(r'<script src="https://unpkg\.com/iframe-worker/shim"></script>')
OURS = Path(__file__).with_name("search_worker.js").read_text(encoding="utf-8")
LOADED = re.compile(
    r'<(?:script|img|iframe)[^>]*\ssrc="(?:https?:)?//[^"]*"|<link[^>]*rel="stylesheet"[^>]*href="(?:https?:)?//[^"]*"'
)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """A page of docs/, with our own script."""
    return _without_network(output, page.file.src_uri)


def on_post_template(output_content: str, template_name: str, **_: Any) -> str:
    """A page of the theme's own."""
    return _without_network(output_content, template_name)


def _without_network(text: str, name: str) -> str:
    made = REMOTE.sub(lambda _: f"<script>{OURS}</script>", text)
    if loaded := LOADED.search(made):
        raise SystemExit(f"site: {name} loads something from the network: {loaded[0]}")
    return made
