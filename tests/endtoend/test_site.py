"""The documentation as a site: MkDocs makes it without a warning, and it needs nothing of the network."""

import re
import subprocess

import pytest
from support.programs import BUILD, ROOT

REFERENCE = re.compile(r'<(\w+)\b[^>]*?\s(?:href|src)="([^"]*)"')
LOADED = {"script", "link", "img"}

# One process makes it: a second one would take away what the first has made.
pytestmark = pytest.mark.xdist_group("site")


@pytest.fixture(scope="module")
def site():
    """Made as `make site` makes it, where its tools are installed: MkDocs takes a warning for an error."""
    tools = BUILD / "site_tools/bin/mkdocs"
    if not tools.exists():
        pytest.skip("no site tools: the site is not made (make site needs a package index)")
    done = subprocess.run(
        ["make", "--no-print-directory", "site"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "build/site"


def test_each_page_is_there_and_links_lead_somewhere(site):
    pages = sorted(site.glob("*.html"))
    assert {page.stem for page in pages} >= {page.stem for page in (ROOT / "docs").glob("*.md")}
    lost, count = [], 0
    for page in pages:
        if page.name == "404.html":  # a server's own, with addresses of its root
            continue
        for _, address in REFERENCE.findall(page.read_text(encoding="utf-8")):
            path = re.split(r"[?#]", address)[0]
            # Files of the repository are no part of the site.
            if path and not re.match(r"\w+:|\.\./", path):
                count += 1
                if not (page.parent / path).exists():
                    lost.append((page.name, address))
    assert lost == []
    assert count > 1000


def test_nothing_is_loaded_from_the_network(site):
    for page in site.rglob("*.html"):
        loaded = [where for tag, where in REFERENCE.findall(page.read_text(encoding="utf-8")) if tag in LOADED]
        assert [where for where in loaded if where.startswith(("http", "//"))] == []
