"""Who can read metrics over HTTP: this machine's users, holders of a certificate, or who may reach a Unix socket. What
other machines reach is encrypted (TLS 1.2 or newer). A Unix socket is its owner's, and with SLICEWISE_GROUP=1 its
group's, in a directory where nobody else could replace it. Each client has a thread, in which it also greets.
"""

import contextlib
import os
import shlex
import socket
import ssl
import stat
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import TCPServer, ThreadingMixIn
from typing import Any

from slicewise.digest.clients import is_loopback
from slicewise.errors import UserError
from slicewise.report.live.open_metrics import CONTENT_TYPE
from slicewise.text.safe_text import say, visible

PATH = "/metrics"
UNIX = "unix:"
LONGEST_SOCKET_NAME = 107
# Clients at a time, and how long one may let us wait for its next bytes.
MOST_CLIENTS = 64
MOST_SECONDS = 10.0


class MetricsServer(ThreadingMixIn, TCPServer):
    """Serves a text at /metrics while `serve_forever` runs; the end of `with` removes a Unix socket."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = MOST_CLIENTS  # where fewer may wait to be greeted, one more waits a second, and then three

    def __init__(self, bind: str, port: int, text: Callable[[], str], context: ssl.SSLContext | None = None) -> None:
        """bind: an address, a host's name, or unix:/PATH. context: without one there is no encryption. Raises UserError
        where other machines could then read along.
        """
        self.text, self.context = text, context
        self._seats = threading.Semaphore(MOST_CLIENTS)
        self._told: set[str | None] = set()
        self._made: tuple[int, int] | None = None
        self.address_family, at = _place(bind, port)
        if self._is_unix and context is not None:
            raise UserError(f"--bind {bind}: a Unix socket has no TLS; its permissions say who may read. Leave one out")
        if not self._is_unix and context is None and not is_loopback(at[0]):
            raise UserError(
                f"--bind {bind}: other machines can reach it, and nothing would be encrypted; give --certificate FILE "
                "--key FILE, or --bind unix:/PATH and let a proxy serve that"
            )
        if self._is_unix:
            _make_way(Path(at))
        try:
            super().__init__(at, _MetricsHandler)
        except OSError as error:
            where = bind if self._is_unix else f"{bind}:{port}"
            raise UserError(
                f"{where}: cannot listen there ({error.strerror}); choose another --port or --bind"
            ) from error

    @property
    def _is_unix(self) -> bool:
        return self.address_family == socket.AF_UNIX

    @property
    def address(self) -> str:
        """Where to read: a URL, or unix:/PATH."""
        if self._is_unix:
            return f"{UNIX}{self.server_address}"
        host, port = self.socket.getsockname()[:2]
        scheme = "http" if self.context is None else "https"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}{PATH}"

    def server_bind(self) -> None:
        super().server_bind()
        if self._is_unix:  # nobody can connect yet: it does not listen
            path = str(self.server_address)
            self._made = _identity(path)
            os.chmod(path, 0o660 if os.environ.get("SLICEWISE_GROUP") == "1" else 0o600)

    def server_close(self) -> None:
        if self._made is not None:
            with contextlib.suppress(OSError):
                path = str(self.server_address)
                if _identity(path) == self._made:
                    os.unlink(path)
            self._made = None
        super().server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._seats.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # no thread can be had
            self._seats.release()
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._seats.release()

    def finish_request(self, request: Any, client_address: Any) -> None:
        request.settimeout(MOST_SECONDS)
        if self.context is None:
            super().finish_request(request, client_address)
            return
        encrypted = self.context.wrap_socket(request, server_side=True)
        try:
            super().finish_request(encrypted, client_address)
        finally:
            self.shutdown_request(encrypted)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is nothing to tell; the first one that is refused for a reason is."""
        error = sys.exc_info()[1]
        if isinstance(error, ssl.SSLError) and error.reason not in self._told:
            self._told.add(error.reason)
            say(f"a client at {client_address[0]} was refused: {error.reason or error} (told once)")
        elif not isinstance(error, OSError):
            super().handle_error(request, client_address)


class _MetricsHandler(BaseHTTPRequestHandler):
    server: MetricsServer

    def do_GET(self) -> None:
        if self.path != PATH:
            self.send_error(404, f"see {PATH}")
            return
        body = self.server.text().encode()
        self.send_response(200)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """A scrape is nothing to tell."""


def encryption(certificate: Path | None, key: Path | None, client_ca: Path | None) -> ssl.SSLContext | None:
    """TLS with a server's certificate, or None. client_ca: who must have signed a client's. Raises UserError."""
    if certificate is None and key is None:
        if client_ca is not None:
            raise UserError("--client-ca: clients can be asked by TLS alone; give --certificate and --key, too")
        return None
    if certificate is None or key is None:
        raise UserError(f"{'--key' if certificate is None else '--certificate'}: give --certificate and --key together")
    for file in filter(None, (certificate, key, client_ca)):
        if not os.access(file, os.R_OK):
            raise UserError(f"{file}: is not there, or may not be read; give a file in PEM")
    if key.stat().st_mode & stat.S_IROTH:
        raise UserError(f"{key}: everybody may read this key; chmod o-r {shlex.quote(str(key))}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key, password="")  # a service has nobody to ask for one
    except OSError as error:
        raise UserError(
            f"{certificate}, {key}: no certificate in PEM and its key without a password ({_reason(error)})"
        ) from error
    if client_ca is not None:
        try:
            context.load_verify_locations(client_ca)
        except OSError as error:
            raise UserError(f"{client_ca}: no certificates in PEM ({_reason(error)})") from error
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _place(bind: str, port: int) -> tuple[socket.AddressFamily, Any]:
    """Family and address of what --bind names; the address is the very one that is listened at."""
    if bind.startswith(UNIX):
        path = bind.removeprefix(UNIX)
        if not path.startswith("/") or len(os.fsencode(path)) > LONGEST_SOCKET_NAME:
            raise UserError(f"--bind {bind}: give unix:/PATH with a whole path of {LONGEST_SOCKET_NAME} bytes at most")
        return socket.AF_UNIX, path
    try:
        found = socket.getaddrinfo(bind or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, ValueError) as error:
        raise UserError(f"--bind {bind}: no such address; give one of this machine, or unix:/PATH") from error
    family, *_, address = min(found, key=lambda one: one[0] != socket.AF_INET)
    return family, address


def _make_way(path: Path) -> None:
    """Remove the socket of a server that was killed. Raises UserError where others could put theirs in its place."""
    try:
        status = path.parent.stat()
    except OSError as error:
        raise UserError(f"{path.parent}: cannot be reached ({error.strerror}); make it first") from error
    if status.st_uid not in (0, os.geteuid()) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UserError(
            f"{path.parent}: others could put their socket there in place of this one; "
            "give a directory of your own that nobody else may write to"
        )
    if _is_left_behind(path):
        path.unlink()


def _is_left_behind(path: Path) -> bool:
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            return False
        with socket.socket(socket.AF_UNIX) as attempt:
            attempt.setblocking(False)  # a full queue is somebody's
            attempt.connect(str(path))
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False


def _identity(path: str) -> tuple[int, int]:
    status = os.lstat(path)
    return status.st_dev, status.st_ino


def _reason(error: OSError) -> str:
    return visible(getattr(error, "reason", None) or error.strerror or str(error))
