"""A folder of pages over HTTP, for one user's browser: on this machine alone, below an address that nobody guesses.
Other users reach its loopback address as well: so the address has a random part, names of other hosts are refused (DNS
rebinding), and only pages and what they show are given.
"""

import html
import secrets
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from slicewise.errors import UserError
from slicewise.text.safe_text import visible

HOST = "127.0.0.1"
TYPES = {".html": "text/html; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png"}
MOST_PAGES = 1000


class PageServer(ThreadingHTTPServer):
    """Serves the pages below a directory; `address` is where the first page is, `serve_forever` does it."""

    daemon_threads = True

    def __init__(self, place: Path, port: int) -> None:
        """place: a directory, or one page. port: 0 for any that is free. Raises UserError."""
        if not place.exists():
            raise UserError(f"{place}: does not exist; give a directory with pages, or a page")
        self.root = (place if place.is_dir() else place.parent).resolve()
        self.key = secrets.token_urlsafe(16)
        if place.is_dir() and not pages(self.root):
            raise UserError(f"{place}: has no pages; make one with: slicewise report PROFILE")
        try:
            super().__init__((HOST, port), _PageHandler)
        except OSError as error:
            raise UserError(f"--port {port}: cannot listen there ({error.strerror}); choose another") from error
        first = "" if place.is_dir() else quote(place.name)
        self.address = f"http://{HOST}:{self.server_address[1]}/{self.key}/{first}"

    def content(self, path: str) -> tuple[str, bytes] | None:
        """The type and bytes of what a path of a request names, if it may be given."""
        first, _, rest = unquote(urlsplit(path).path).lstrip("/").partition("/")
        if not secrets.compare_digest(first.encode(), self.key.encode()):
            return None
        if not rest:
            return TYPES[".html"], _index(self.root).encode()
        try:
            file = (self.root / rest).resolve()
            if not file.is_relative_to(self.root) or file.suffix not in TYPES:
                return None
            return TYPES[file.suffix], file.read_bytes()
        except (OSError, ValueError):
            return None

    def is_ours(self, host: str) -> bool:
        return host in (f"{HOST}:{self.server_address[1]}", f"localhost:{self.server_address[1]}")


class _PageHandler(BaseHTTPRequestHandler):
    server: PageServer

    def do_GET(self) -> None:
        found = self.server.content(self.path) if self.server.is_ours(self.headers.get("Host", "")) else None
        if found is None:
            self.send_error(404)
            return
        kind, body = found
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """A page that is looked at is nothing to tell."""


def pages(root: Path) -> list[Path]:
    found = [file for file in root.rglob("*.html") if file.is_file()]
    return sorted(found, key=lambda file: (-file.stat().st_mtime, str(file)))[:MOST_PAGES]


def _index(root: Path) -> str:
    names = [str(file.relative_to(root)) for file in pages(root)]
    links = "\n".join(f'<li><a href="{quote(name)}">{html.escape(visible(name))}</a></li>' for name in names)
    title = html.escape(visible(root.name or str(root)))
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Slicewise: {title}</title><style>:root {{ color-scheme: light dark }} "
        "body { font: 16px/1.6 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }</style>"
        f"<h1>Pages in {title}</h1><p>The newest first.</p><ul>{links}</ul></html>"
    )
