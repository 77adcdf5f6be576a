"""OpenMetrics of this node's jobs, over HTTP."""

import signal
import sys
import threading
from pathlib import Path

from slicewise.errors import UserError
from slicewise.live import looks
from slicewise.report.live.open_metrics import Metrics
from slicewise.running.installation import find_installation
from slicewise.running.metrics_server import PATH, UNIX, MetricsServer, encryption
from slicewise.text.safe_text import visible

DEFAULT_PORT = 9469


def serve_metrics(
    port: int,
    bind: str,
    certificate: Path | None,
    key: Path | None,
    client_ca: Path | None,
    every: float,
    all_users: bool,
) -> None:
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
