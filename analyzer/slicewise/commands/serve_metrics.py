"""OpenMetrics of this node's jobs, over HTTP."""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path
from typing import Annotated

import typer

from slicewise.errors import UserError
from slicewise.live import looks
from slicewise.report.live.open_metrics import Metrics
from slicewise.running.installation import find_installation
from slicewise.running.metrics_server import PATH, UNIX, MetricsServer, encryption
from slicewise.text.safe_text import visible

DEFAULT_PORT = 9469


def serve_metrics(
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="0: any that is free.")] = DEFAULT_PORT,
    bind: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS|unix:/PATH",
            help="Where to listen. Whoever can reach it can read all jobs' figures. What other machines reach needs "
            "--certificate. A Unix socket is its owner's alone; with SLICEWISE_GROUP=1 its group's, too.",
        ),
    ] = "127.0.0.1",
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Serve by TLS with this certificate (PEM).")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The certificate's key (PEM, without a password).")
    ] = None,
    client_ca: Annotated[
        Path | None,
        typer.Option(
            "--client-ca", metavar="FILE", help="Serve only clients with a certificate that one of these signed (PEM)."
        ),
    ] = None,
    every: Annotated[float, typer.Option(metavar="SECONDS", min=0.1, help="How often to look at the processes.")] = 1.0,
    all_users: Annotated[bool, typer.Option("--all-users", help="Show all users' jobs; root alone may.")] = False,
) -> None:
    """Serve OpenMetrics of this node's jobs, by job and mount: http://ADDRESS:PORT/metrics. Ends with Ctrl-C or
    SIGTERM.

    Example: slicewise serve-metrics --port 9469
    """
    collector = find_installation().collector
    metrics, lock = Metrics(), threading.Lock()
    failed: list[UserError] = []

    def text() -> str:
        with lock:
            return metrics.text()

    server = MetricsServer(bind, port, text, encryption(certificate, key, client_ca))

    def look_on() -> None:
        try:
            for look in looks(collector, every, all_users):
                with lock:
                    metrics.take(look)
        except UserError as error:
            failed.append(error)
            server.shutdown()

    with server:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        threading.Thread(target=look_on, daemon=True).start()
        path = server.address.removeprefix(UNIX)
        is_unix = path != server.address
        reading = f"   (curl --unix-socket {path} http://localhost{PATH})" if is_unix else ""
        print(visible(f"slicewise: {server.address}{reading}"), flush=True)
        server.serve_forever()
    if failed:
        raise failed[0]
