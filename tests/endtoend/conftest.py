"""What several end-to-end tests begin with."""

from collections.abc import Iterator

import pytest
from support import browser


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A file's pages are opened by one process: to start a browser takes longer than to look at most of them."""
    for item in items:
        if "window" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.fixture(scope="module")
def window() -> Iterator[browser.Browser]:
    """A browser for the tests of one file."""
    with browser.Browser() as opened:
        yield opened
