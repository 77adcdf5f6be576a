"""Counts that go with intervals of 95 %, and those that do not."""

import pytest
from support.binomial import is_as_often


@pytest.mark.parametrize(
    ("count", "of", "is_so"),
    [
        (40, 40, True),
        (15, 15, True),
        (13, 15, True),
        (11, 15, False),
        (100, 100, False),
        (95, 100, True),
        (28, 33, False),
    ],
)
def test_counts_within_intervals(count, of, is_so):
    """0.95^40 = 13 %, 0.95^100 = 0.6 %; 11 or fewer of 15: 0.5 %, 28 or fewer of 33: 2.2 %."""
    assert is_as_often(count, of) == is_so
