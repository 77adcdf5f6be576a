"""A hook of mkdocs: pages load nothing from the network. The theme's offline plugin asks unpkg.com for what lets the
search run from file://; our own few lines do that. A copy of mermaid that `make site` has fetched draws diagrams; without
it their text is shown.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

REMOTE = re.compile(r'<script src="https://unpkg\.com/iframe-worker/shim"></script>')
MERMAID = Path(__file__).parents[2] / "build/mermaid/mermaid.min.js"
DIAGRAM = '<div class="diagram">'
DRAWING = """<style>.diagram { white-space: pre-wrap; }</style>
<script src="assets/mermaid.min.js"></script>
<script>
if (window.mermaid) {
  const dark = document.body.dataset.mdColorScheme === "slate";
  mermaid.initialize({ startOnLoad: false, theme: dark ? "dark" : "neutral", flowchart: { useMaxWidth: true } });
  mermaid.run({ querySelector: ".diagram" });
}
</script>
"""
OURS = Path(__file__).with_name("search_worker.js").read_text(encoding="utf-8")
LOADED = re.compile(
    r'<(?:script|img|iframe)[^>]*\ssrc="(?:https?:)?//[^"]*"|<link[^>]*rel="stylesheet"[^>]*href="(?:https?:)?//[^"]*"'
)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """A page of docs/, with our own script."""
    drawn = output.replace("</body>", f"{DRAWING}</body>") if DIAGRAM in output else output
    return _without_network(drawn, page.file.src_uri)


def on_post_build(config: Any, **_: Any) -> None:
    """What draws diagrams, beside the theme's own scripts."""
    if MERMAID.exists():
        shutil.copyfile(MERMAID, Path(config.site_dir) / "assets/mermaid.min.js")
    else:
        print("site: without npm diagrams are shown as text")


def on_post_template(output_content: str, template_name: str, **_: Any) -> str:
    """A page of the theme's own."""
    return _without_network(output_content, template_name)


def _without_network(text: str, name: str) -> str:
    made = REMOTE.sub(lambda _: f"<script>{OURS}</script>", text)
    if loaded := LOADED.search(made):
        raise SystemExit(f"site: {name} loads something from the network: {loaded[0]}")
    return made
