"""Runs of the same work that had traffic without a profile beside them say how long it takes alone at least."""

from dataclasses import replace

import numpy as np
import pytest
from slicewise.analysis.blame.on_storage import SlicesOnStorage
from slicewise.analysis.blame.standalone import StandaloneRows, from_standalone, with_waits_of
from slicewise.analysis.blame.uncontended import Scene

STORAGE, SLICES, MIB = 7, 10, 1 << 20


def on_storage(seconds, served=1.0):
    """A job of one process that wrote 10 MiB in so many seconds, in 10 slices of 2 s, with somebody there. served: of
    these bytes, while it ran.
    """
    zeros, ones = np.zeros(SLICES), np.ones(SLICES)
    each = {"read": zeros, "write": ones * seconds / SLICES, "meta": zeros}
    amounts = {"read": zeros, "write": ones * served * MIB, "meta": zeros}
    slices, company = np.arange(SLICES), np.ones(SLICES, np.uint64)
    return SlicesOnStorage(
        slices, each, amounts, amounts, zeros, ones * MIB, ones, np.ones(SLICES, bool), ones, company, zeros, amounts
    )


def run(name, seconds, strangers=None):
    return StandaloneRows(name, 1, {STORAGE: on_storage(seconds)}, 1.0, True, strangers)


def told(took, *runs, served=1.0):
    return from_standalone(Scene({STORAGE: on_storage(took, served)}, {}, 2.0), runs, 1)


@pytest.mark.parametrize("served", [1.0, 0.2, 0.0])
def test_writes_to_a_cache_take_as_long_whatever_was_served_meanwhile(served):
    """A cache sends when it likes. Where nothing was served, what a write waited for is not told."""
    prices = told(3.3, run("alone", 3.2), served=served)
    assert prices.did_as_much
    if served:
        assert prices.of[STORAGE, "write"].seconds * served * 10 * MIB == pytest.approx(3.2)
    else:
        assert prices.of == {}


def test_one_that_was_slower_than_strangers_explain_makes_quick_runs_say_nothing():
    prices = told(14.0, run("quick", 1.0), run("slow", 13.9, strangers=2.0))
    assert prices.refused.startswith("slow did the same and took longer than the traffic beside it explains")


@pytest.mark.parametrize("strangers", [12.8, 13.5])
def test_one_that_strangers_may_have_slowed_down_says_nothing(strangers):
    prices = told(14.0, run("quick", 1.0), run("slow", 13.9, strangers=strangers))
    assert (prices.refused, prices.confidence, prices.runs) == ("", "high", ("quick",))


def test_where_it_matters_little_the_interval_holds_it():
    prices = told(14.0, run("quick", 4.0), run("slow", 6.5, strangers=0.5))
    assert (prices.confidence, prices.slower_run) == ("medium", "slow")
    assert prices.of[STORAGE, "write"].error == pytest.approx(0.5)  # up to the 6 s


def test_without_any_quiet_run_those_count_that_strangers_hardly_touched():
    prices = told(14.0, run("nearly", 10.0, strangers=1.0))
    assert (prices.confidence, prices.runs) == ("medium", ("nearly",))
    assert prices.of[STORAGE, "write"].error == pytest.approx(0.1)
    assert told(14.0, run("hardly", 10.0, strangers=4.0)).refused


def test_a_job_as_fast_as_its_quick_runs_needs_no_others():
    prices = told(1.0, run("quick", 1.0), run("slow", 13.9, strangers=2.0))
    assert not prices.refused


def with_metadata(own, seconds, calls):
    ones = np.ones(SLICES)
    amounts = own.amounts | {"meta": ones * calls / SLICES}
    return replace(own, seconds=own.seconds | {"meta": ones * seconds / SLICES}, amounts=amounts)


@pytest.mark.parametrize(("waited", "is_as_much"), [(0.0001, True), (1.0, False)])
def test_metadata_calls_for_which_the_job_hardly_waited_make_no_other_work(waited, is_as_much):
    """16 processes made 80 of them, and 17 of the run alone, which waited a little, made 85: that was no time alone."""
    scene = Scene({STORAGE: with_metadata(on_storage(10.9), waited, 80)}, {}, 2.0)
    runs = [StandaloneRows("alone", 1, {STORAGE: with_metadata(on_storage(3.5), 0.2, 85)}, 1.0, True)]
    scene = with_waits_of(scene, runs)
    assert (STORAGE, "meta") in scene.places
    assert from_standalone(scene, runs, 1).did_as_much is is_as_much
