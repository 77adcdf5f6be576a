"""Campaigns that were really run, on file servers that share in different ways: what is found in their profiles."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.campaign import Campaign, campaign
from slicewise.analysis.delta import delta_graph
from slicewise.analysis.fitted import fit_model
from slicewise.profile.many import read_profiles
from slicewise.report.weight_words import answer
from testbed import validation

CAMPAIGNS = Path(__file__).parent / "campaigns"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "validation.md"


def load(name: str) -> Campaign:
    return validation.read_campaign(CAMPAIGNS / name)


@pytest.mark.parametrize(
    ("server", "kind", "others"),
    [("glusterfs", "processes", {"outstanding", "processes^beta"}), ("sshfs", "nodes", {"mounts", "equal"})],
)
def test_the_weight_differs_between_servers_and_is_right_for_both(server, kind, others):
    data = load(server)
    fit = fit_model(data.jobs, data.slices).weight
    assert fit.chosen.kind == kind
    assert {kind} <= set(fit.possible) <= {kind, *others, "processes^beta"}
    assert fit.beta.value == pytest.approx({"processes": 1, "nodes": 0}[kind], abs=0.15)


@pytest.mark.parametrize(("server", "largest", "mean"), [("glusterfs", 0.05, 0.025), ("sshfs", 0.09, 0.05)])
def test_runtimes_of_runs_that_the_fit_has_not_seen(server, largest, mean):
    checked = validation.checked_by_others(CAMPAIGNS / server)
    pairs = checked.filter(pl.len().over("run") == 2)["relative_error"].abs()
    assert len(pairs) == 12
    assert pairs.max() <= largest
    assert pairs.mean() <= mean
    three = checked.filter(pl.len().over("run") == 3)["relative_error"].abs()
    assert len(three) == 6
    assert three.max() <= 0.10


@pytest.mark.parametrize("server", ["glusterfs", "sshfs"])
def test_one_shared_file_is_shared_by_file_whatever_the_server(server):
    data = load(f"{server}-shared")
    assert fit_model(data.jobs, data.slices).weight.chosen.kind == "nodes"
    checked = validation.checked_by_others(CAMPAIGNS / f"{server}-shared")
    assert len(checked) == 6
    assert checked["relative_error"].abs().max() <= 0.15


def test_jobs_of_one_size_cannot_tell():
    data = load("one-size")
    fit = fit_model(data.jobs, data.slices).weight
    assert fit.chosen is None
    assert answer(fit).startswith("Cannot tell by what the storage is shared")


def test_fair_sharing_and_first_come_first_served_are_told_apart():
    fair, in_turn = (
        delta_graph(name, campaign(read_profiles([CAMPAIGNS / name]), "write", is_by_name=True).jobs)
        for name in ("delta-glusterfs", "delta-turns")
    )
    assert fair.asymmetry < 0.1
    assert in_turn.asymmetry > 0.5
    for graph in (fair, in_turn):
        assert graph.points["point"].n_unique() == 5
        assert max(graph.peak.values()) == pytest.approx(2, abs=0.25)


def test_the_page_of_validation_is_made_from_these():
    assert PAGE.read_text(encoding="utf-8") == validation.page(CAMPAIGNS)
