"""Causes of interference that were planted on the testbed: the recorded profiles are judged anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from testbed import plants_page

ARCHIVE = Path(__file__).parent / "planted.tar.xz"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "causes-measured.md"
MOST_BYTES = 1 << 20
# All cases are read once.
pytestmark = pytest.mark.xdist_group("planted")


def test_planted_causes_are_named_first():
    planted = [one for one in plants_page.read_all(ARCHIVE) if not one.name.startswith(plants_page.FLOW)]
    assert len(planted) >= 10
    assert {one.case.cause for one in planted} == {
        "device", "link", "server processors", "client processors", "incast",
    }  # fmt: skip
    right = [one.name for one in planted if one.named[:1] == [one.case.cause]]
    assert len(right) >= plants_page.AIM * len(planted), {one.name for one in planted} - set(right)


def test_the_page_is_made_from_these():
    assert PAGE.read_text(encoding="utf-8") == plants_page.page(plants_page.read_all(ARCHIVE))


def test_the_archive_is_small():
    assert ARCHIVE.stat().st_size <= MOST_BYTES
