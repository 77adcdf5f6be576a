"""Who can read metrics: nobody on another machine without TLS, and at a Unix socket whom its permissions let."""

import contextlib
import os
import socket
import ssl
import stat
import threading
import time
import urllib.request
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.error import URLError

import pytest
from slicewise.digest.clients import is_loopback
from slicewise.errors import UserError
from slicewise.running import metrics_server
from slicewise.running.metrics_server import MOST_CLIENTS, MetricsServer, encryption
from support.certificates import Certificate, make_certificate

TEXT = "# EOF\n"


@contextlib.contextmanager
def serving(bind: str, context: ssl.SSLContext | None = None) -> Iterator[MetricsServer]:
    with MetricsServer(bind, 0, lambda: TEXT, context) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class UnixConnection(HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=30)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self.path))


def read_at(path: Path) -> str:
    connection = UnixConnection(path)
    connection.request("GET", "/metrics")
    return connection.getresponse().read().decode()


def read_by_tls(server: MetricsServer, trusted: Certificate, own: Certificate | None = None) -> str:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(trusted.certificate)
    if own is not None:
        context.load_cert_chain(own.certificate, own.key)
    with urllib.request.urlopen(server.address, context=context, timeout=30) as answer:
        return answer.read().decode()


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    return make_certificate(tmp_path, "node")


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2", "127.255.255.254", "::1", "::ffff:127.0.0.1"])
def test_what_this_machine_alone_reaches(address: str) -> None:
    assert is_loopback(address)


@pytest.mark.parametrize(
    "address", ["0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "126.255.255.255", "fe80::1%eth0", "::2", "::ffff:10.0.0.1"]
)
def test_what_other_machines_reach(address: str) -> None:
    assert not is_loopback(address)


@pytest.mark.parametrize("bind", ["0.0.0.0", "::", "", "192.0.2.1", "::ffff:192.0.2.1"])
def test_nothing_is_served_in_plain_beyond_this_machine(bind: str) -> None:
    with pytest.raises(UserError, match=r"give --certificate FILE --key FILE, or --bind unix:/PATH") as refused:
        MetricsServer(bind, 0, lambda: TEXT)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("bind", ["127.0.0.1", "127.0.0.2", "localhost"])
def test_this_machine_alone_needs_no_certificate(bind: str) -> None:
    with serving(bind) as server, urllib.request.urlopen(server.address, timeout=30) as answer:
        assert server.address.startswith("http://127.")
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
        assert answer.read().decode() == TEXT


def test_by_tls(certificate: Certificate, capfd: pytest.CaptureFixture[str]) -> None:
    with serving("127.0.0.1", encryption(certificate.certificate, certificate.key, None)) as server:
        assert server.address.startswith("https://127.0.0.1:")
        assert read_by_tls(server, certificate) == TEXT
        for _ in range(2):
            with pytest.raises((ConnectionError, URLError, HTTPException)):
                urllib.request.urlopen(server.address.replace("https", "http"), timeout=30)
        assert read_by_tls(server, certificate) == TEXT
    errors = capfd.readouterr().err
    assert errors.startswith("slicewise: a client at 127.0.0.1 was refused: ")
    assert errors.count("\n") == 1


def test_older_tls_is_refused(certificate: Certificate) -> None:
    context = encryption(certificate.certificate, certificate.key, None)
    assert context is not None
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2


def test_clients_need_a_certificate_where_they_are_asked_for_one(tmp_path: Path, certificate: Certificate) -> None:
    known, stranger = make_certificate(tmp_path, "prometheus"), make_certificate(tmp_path, "stranger")
    context = encryption(certificate.certificate, certificate.key, known.certificate)
    with serving("127.0.0.1", context) as server:
        assert read_by_tls(server, certificate, known) == TEXT
        for own in (None, stranger):
            with pytest.raises((ssl.SSLError, ConnectionError, URLError)):
                read_by_tls(server, certificate, own)
        assert read_by_tls(server, certificate, known) == TEXT


def test_who_says_nothing_holds_up_nobody(certificate: Certificate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_server, "MOST_SECONDS", 0.5)
    with serving("127.0.0.1", encryption(certificate.certificate, certificate.key, None)) as server:
        with contextlib.ExitStack() as silent:
            for _ in range(3):
                silent.enter_context(socket.create_connection(server.server_address))
            assert read_by_tls(server, certificate) == TEXT
        with contextlib.ExitStack() as silent:
            held = [silent.enter_context(socket.create_connection(server.server_address)) for _ in range(MOST_CLIENTS)]
            held[-1].settimeout(30)
            assert held[-1].recv(1) == b""  # each was let go
        deadline = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError):
                assert read_by_tls(server, certificate) == TEXT
                break
            assert time.monotonic() < deadline


def test_files_that_make_no_tls(tmp_path: Path, certificate: Certificate) -> None:
    other = make_certificate(tmp_path, "other")
    locked = make_certificate(tmp_path, "locked", "-passout", "pass:secret")
    text = tmp_path / "text"
    text.write_text("no PEM")
    text.chmod(0o600)
    ours, key = certificate.certificate, certificate.key
    for given, complaint in [
        ((ours, None, None), "together"),
        ((None, key, None), "together"),
        ((None, None, ours), "give --certificate and --key, too"),
        ((ours, tmp_path / "none", None), "is not there"),
        ((ours, other.key, None), "no certificate in PEM and its key"),
        ((locked.certificate, locked.key, None), "without a password"),
        ((text, key, None), "no certificate in PEM"),
        ((ours, key, text), "no certificates in PEM"),
    ]:
        with pytest.raises(UserError, match=complaint) as refused:
            encryption(*given)
        assert "\n" not in str(refused.value)
    key.chmod(0o644)
    with pytest.raises(UserError, match="everybody may read this key"):
        encryption(ours, key, None)


@pytest.mark.parametrize(("group", "mode"), [(None, 0o600), ("1", 0o660)])
def test_a_unix_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str | None, mode: int) -> None:
    monkeypatch.delenv("SLICEWISE_GROUP", raising=False)
    if group is not None:
        monkeypatch.setenv("SLICEWISE_GROUP", group)
    path = tmp_path / "metrics"
    before = os.umask(0)
    try:
        with serving(f"unix:{path}") as server:
            assert server.address == f"unix:{path}"
            assert stat.S_IMODE(path.stat().st_mode) == mode
            assert read_at(path) == TEXT
    finally:
        os.umask(before)
    assert not path.exists()


def test_a_socket_left_behind_is_replaced_and_a_living_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "metrics"
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(path))
    with serving(f"unix:{path}"):
        with pytest.raises(UserError, match="cannot listen there"):
            MetricsServer(f"unix:{path}", 0, lambda: TEXT)
        assert read_at(path) == TEXT
    path.write_text("a file")
    with pytest.raises(UserError, match="cannot listen there"):
        MetricsServer(f"unix:{path}", 0, lambda: TEXT)
    assert path.read_text() == "a file"


def test_the_socket_of_another_is_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "metrics"
    with serving(f"unix:{path}"):
        path.rename(tmp_path / "moved")
        path.write_text("another's")
    assert path.read_text() == "another's"


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_directory_where_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(UserError, match="others could put their socket there"):
        MetricsServer(f"unix:{folder}/metrics", 0, lambda: TEXT)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("bind", "complaint"),
    [
        ("unix:metrics", "whole path"),
        (f"unix:/{'x' * 120}", "whole path"),
        ("unix:/nowhere/metrics", "cannot be reached"),
        ("no..host", "no such address"),
    ],
)
def test_places_that_are_none(bind: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        MetricsServer(bind, 0, lambda: TEXT)


def test_a_unix_socket_has_no_certificate(tmp_path: Path, certificate: Certificate) -> None:
    with pytest.raises(UserError, match="has no TLS"):
        MetricsServer(f"unix:{tmp_path}/m", 0, lambda: TEXT, encryption(certificate.certificate, certificate.key, None))
