"""Who can have slowed a job down: nobody on a disk that its calls left alone, less surely where counts came late."""

import polars as pl
import pytest
from slicewise.analysis.blame.blame import blame
from slicewise.report.blame.blame_words import headline
from support.blame_trials import digests
from support.limited_reader import FIRST, LIMIT, MIB, NS, reader


@pytest.mark.parametrize(
    ("fetched", "limited", "is_blamed"),
    [(0, "sdb", False), (8192, "sdb", False), (8192, "sda", True), (20 * MIB, "sdb", True), (None, "sdb", True)],
)
def test_nobody_slows_down_a_job_that_asks_nothing_of_the_disk(tmp_path, fetched, limited, is_blamed):
    """All that it reads is in memory, or all but two pages of 50 ms each, where no limit may have let them wait: it
    took twice as long as alone, and for another reason.
    """
    seen = {"limited": limited, "at_limit": (0.5,), "fetched": fetched, "disk_requests": 100, "disk_ns": 5 * NS}
    own, run, other = digests(
        reader(tmp_path / "job", LIMIT // 2, seconds=20, **seen),
        reader(tmp_path / "alone", LIMIT, start=FIRST - 100, **seen),
        reader(tmp_path / "other", LIMIT // 2, seconds=20, limited=limited, at_limit=(0.5,)),
    )
    told = blame(own, [other], [run])
    assert [neighbour.job for neighbour in told.neighbours] == ([None, "other"] if is_blamed else [])
    assert any("did not slow it down" in note for note in told.notes) != is_blamed
    assert is_blamed or (told.lost is not None and told.unexplained_seconds == told.lost.value > 0)
    assert is_blamed or told.confidence == "low"
    assert told.is_in_memory != is_blamed
    assert (": what its calls read was in memory" in headline(told)) != is_blamed


@pytest.mark.parametrize(("joined", "is_less_sure"), [(0, False), (1, False), (5, True)])  # of 20 slices
def test_it_is_less_sure_who_was_there_where_counts_came_late(tmp_path, joined, is_less_sure):
    own, run, same = digests(
        reader(tmp_path / "job", LIMIT // 2, seconds=20),
        reader(tmp_path / "alone", LIMIT, start=FIRST - 100),
        reader(tmp_path / "same", LIMIT // 2, seconds=20),
    )
    surely = blame(own, [same], [run])
    counted = same.mishaps.clear()
    late = pl.DataFrame([{"mishap": "slices_joined", "count": joined}], schema_overrides=counted.schema)
    same.__dict__["mishaps"] = pl.concat([counted, late], how="diagonal")
    told = blame(own, [same], [run])
    assert surely.confidence == "high"
    assert told.confidence == ("medium" if is_less_sure else "high")
    assert any("same is counted in part a slice late" in note for note in told.notes) == is_less_sure
