"""Pages over HTTP: only to who has the key, only pages, and only from below the directory."""

import http.client
import re
import threading
from contextlib import contextmanager

import pytest
from slicewise.errors import UserError
from slicewise.running.page_server import PageServer


@contextmanager
def serving(place):
    """A server of the place, and a function that gets a path from it: status and body."""
    with PageServer(place, 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def get(path, host=None):
            connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=30)
            connection.request("GET", path, headers={"Host": host} if host else {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

        try:
            yield server, get
        finally:
            server.shutdown()


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "pages"
    (root / "day").mkdir(parents=True)
    (root / "report <b>.html").write_text("one")
    (root / "day" / "pair.html").write_text("two")
    (root / "secret.txt").write_text("no page")
    (tmp_path / "outside.html").write_text("outside")
    (root / "link.html").symlink_to(tmp_path / "outside.html")
    return root


def test_pages_are_listed_and_given(folder):
    with serving(folder) as (server, get):
        status, index = get(f"/{server.key}/")
        assert status == 200
        links = re.findall(r'href="([^"]+)"', index)
        assert {"report%20%3Cb%3E.html", "day/pair.html"} <= set(links)
        assert "<b>" not in index
        assert get(f"/{server.key}/day/pair.html") == (200, "two")
        assert get(f"/{server.key}/report%20%3Cb%3E.html") == (200, "one")


@pytest.mark.parametrize("path", ["/", "/wrong/", "/wrong/day/pair.html", "/day/pair.html", "KEY of another host"] + [
    f"/KEY/{name}" for name in
    ("secret.txt", "../outside.html", "%2e%2e/outside.html", "link.html", "day", "//etc/hostname", "a%00.html")
])  # fmt: skip
def test_without_the_key_or_below_the_directory_there_is_nothing(folder, path):
    with serving(folder) as (server, get):
        if path.startswith("KEY"):
            assert get(f"/{server.key}/", host="attacker.example")[0] == 404
        else:
            assert get(path.replace("KEY", server.key))[0] == 404


def test_one_page(folder):
    with serving(folder / "day" / "pair.html") as (server, get):
        assert server.address.endswith(f"/{server.key}/pair.html")
        assert get(f"/{server.key}/pair.html") == (200, "two")


def test_a_place_without_pages_is_a_users_error(tmp_path):
    with pytest.raises(UserError, match="has no pages; make one with: slicewise report PROFILE"):
        PageServer(tmp_path, 0)
    with pytest.raises(UserError, match="does not exist"):
        PageServer(tmp_path / "nowhere", 0)
