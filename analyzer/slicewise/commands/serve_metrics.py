"""OpenMetrics of this node's jobs, over HTTP."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Annotated

import typer

from slicewise.errors import UserError
from slicewise.live import looks
from slicewise.report.live.open_metrics import CONTENT_TYPE, Metrics
from slicewise.running.installation import find_installation
from slicewise.text.safe_text import visible

DEFAULT_PORT = 9469
PATH = "/metrics"


def serve_metrics(
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="0: any that is free.")] = DEFAULT_PORT,
    bind: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen. Whoever can reach it can read all jobs' figures.")
    ] = "127.0.0.1",
    every: Annotated[float, typer.Option(metavar="SECONDS", min=0.1, help="How often to look at the processes.")] = 1.0,
    all_users: Annotated[bool, typer.Option("--all-users", help="Show all users' jobs; root alone may.")] = False,
) -> None:
    """Serve OpenMetrics of this node's jobs, by job and mount: http://ADDRESS:PORT/metrics. Ends with Ctrl-C.

    Example: slicewise serve-metrics --port 9469
    """
    collector = find_installation().collector
    metrics, lock = Metrics(), threading.Lock()
    failed: list[UserError] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != PATH:
                self.send_error(404, f"see {PATH}")
                return
            with lock:
                body = metrics.text().encode()
            self.send_response(200)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """A scrape is nothing to tell."""

    try:
        server = ThreadingHTTPServer((bind, port), Handler)
    except OSError as error:
        raise UserError(
            f"{bind}:{port}: cannot listen there ({error.strerror}); choose another --port or --bind"
        ) from error

    def look_on() -> None:
        try:
            for look in looks(collector, every, all_users):
                with lock:
                    metrics.take(look)
        except UserError as error:
            failed.append(error)
            server.shutdown()

    threading.Thread(target=look_on, daemon=True).start()
    print(f"slicewise: http://{visible(bind)}:{server.server_address[1]}{PATH}", flush=True)
    with server:
        server.serve_forever()
    if failed:
        raise failed[0]
