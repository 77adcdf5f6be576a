"""What several end-to-end tests begin with."""

from collections.abc import Iterator

import pytest
from support import browser


@pytest.fixture(scope="module")
def window() -> Iterator[browser.Browser]:
    """A browser for the tests of one file: to start one takes longer than to look at most pages."""
    with browser.Browser() as opened:
        yield opened
