"""Locks that processes take in turn, held against a stopwatch: beside others they wait for processors instead."""

from support.programs import Apps
from support.savings import saving_holds


def test_the_saving_of_locks_holds_what_the_stopwatch_says(apps: Apps) -> None:
    saving_holds(apps, "locks", "unlocked", "locks")
