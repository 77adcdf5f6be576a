"""docs/security.md names a test for each threat: each of them is there."""

from __future__ import annotations

import re

import pytest
from support.programs import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([a-z]+/test_\w+\.(?:py|cpp))::([^`]+)`", PAGE)))


def test_the_page_names_tests():
    assert len(NAMED) > 20
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| threat")]
    assert [row for row in rows if "::" not in row] == []


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_a_named_test_is_there(file, test):
    text = (ROOT / "tests" / file).read_text(encoding="utf-8")
    assert (f"def {test}(" if file.endswith(".py") else f'TEST_CASE("{test}"') in text
