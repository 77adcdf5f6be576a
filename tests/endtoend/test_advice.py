"""What to change, held against a stopwatch; `test_saving_of_locks.py` has the habit that minds busy processors."""

import pytest
from support.programs import Apps
from support.savings import saving_holds


@pytest.mark.parametrize(
    ("before", "after", "kind", "mib", "is_of_processor"),
    [
        ("syncs", "synced", "syncs", 0, False),
        ("small", "large", "small writes", 0, False),
        ("buffers", "buffered", "small buffers", 0, False),
        ("random", "ordered", "random reads", 512, False),
        ("again", "once", "reads again", 64, True),
        ("opens", "opened", "opens", 0, True),
        ("missing", "found", "failing calls", 0, True),
        ("looks", "kept", "looks", 1, True),
        ("sips", "gulps", "small reads", 512, False),
        ("mixed", "apart", "shared file", 0, False),
    ],
)
def test_a_saving_holds_what_the_stopwatch_says(
    apps: Apps, before: str, after: str, kind: str, mib: int, is_of_processor: bool
) -> None:
    saving_holds(apps, before, after, kind, mib, is_of_processor)
