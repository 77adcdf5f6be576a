"""Campaigns that were really run, on file servers that share in different ways: what is found in their profiles."""

from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.campaign.result import ALL_JOBS, ALL_RUNS, AT_STAKE, figures_of
from slicewise.analysis.nodes.causes import FLOW_CONTROL
from slicewise.analysis.runs.campaign import Campaign
from slicewise.analysis.sharing.fitted_model import fit_model
from slicewise.report.model.model_report import answer
from testbed import measured, recordings

# One process reads these campaigns, and asks for what every test here uses.
pytestmark = pytest.mark.xdist_group("campaigns")

ARCHIVES = Path(__file__).parent / "campaigns"
PAIRS, REPEATS = 10, 5
# Of a campaign's runs, so many may stand out among their repeats.
MOST_OUTLIERS = 0.1


def of(name: str) -> Path:
    return recordings.unpacked(ARCHIVES) / name


def load(name: str) -> Campaign:
    return recordings.read_campaign(of(name))


def errors(name: str, jobs: pl.Expr) -> pl.Series:
    """|RE| of the runtimes of runs with so many jobs, without the few runs that stood out."""
    checked = recordings.read_result(of(name)).checked.filter(jobs)
    kept = checked.filter(~pl.col("is_outlier"))
    assert kept["run"].n_unique() >= (1 - MOST_OUTLIERS) * checked["run"].n_unique()
    return kept["relative_error"].abs()


@pytest.mark.parametrize(
    ("server", "kind", "others"),
    [("glusterfs", "processes", {"outstanding", "processes^beta"}), ("sshfs", "nodes", {"mounts", "equal"})],
)
def test_the_weight_differs_between_servers_and_is_right_for_both(server, kind, others):
    data = load(server)
    fit = fit_model(data.jobs, data.slices).weight
    assert fit.chosen.kind == kind
    assert {kind} <= set(fit.possible) <= {kind, *others}


@pytest.mark.parametrize(("server", "largest", "mean"), [("glusterfs", 0.05, 0.025), ("sshfs", 0.09, 0.05)])
def test_runtimes_of_runs_that_the_fit_has_not_seen(server, largest, mean):
    pairs = errors(server, pl.len().over("run") == 2)
    assert len(pairs) >= (1 - MOST_OUTLIERS) * PAIRS * REPEATS * 2
    assert pairs.max() <= largest
    assert pairs.mean() <= mean
    more = errors(server, pl.len().over("run") > 2)
    assert len(more) >= (1 - MOST_OUTLIERS) * REPEATS * (3 + 4)
    assert more.max() <= 0.10


@pytest.mark.parametrize(
    ("name", "mean", "bias"),
    [
        ("glusterfs", 0.01, 0.01),
        ("sshfs", 0.015, 0.01),
        ("glusterfs-shared", 0.01, 0.01),
        ("sshfs-shared", 0.015, 0.01),
    ],
)
def test_all_runs_and_jobs_whose_share_is_at_stake(name, mean, bias):
    """Nothing left out: the mean and the bias where the law is tested, and what intervals hold."""
    checked = recordings.read_result(of(name)).checked
    at_stake, every = (
        figures_of(checked, {"all": pl.lit(True)})
        .filter(pl.col("jobs") == jobs, pl.col("runs") == ALL_RUNS)
        .row(0, named=True)
        for jobs in (AT_STAKE, ALL_JOBS)
    )
    assert at_stake["count"] >= 15
    assert at_stake["mean"] <= mean
    assert abs(at_stake["bias"]) <= bias
    assert 0.90 <= every["within"] <= 0.98
    assert every["warned"] == 1


@pytest.mark.parametrize("server", ["glusterfs", "sshfs"])
def test_one_shared_file_is_shared_by_node_whatever_the_server(server):
    data = load(f"{server}-shared")
    assert fit_model(data.jobs, data.slices).weight.chosen.kind == "nodes"
    pairs = errors(f"{server}-shared", pl.len().over("run") == 2)
    assert len(pairs) >= (1 - MOST_OUTLIERS) * PAIRS * REPEATS * 2
    assert pairs.max() <= 0.15


def test_a_server_between_fairness_by_process_and_by_mount():
    """CephFS with little write-back: no plain count explains the shares, and all of them are refuted."""
    data = load("cephfs")
    fit = fit_model(data.jobs, data.slices).weight
    assert fit.possible == ["processes^beta"]
    assert 0.2 < fit.beta.low < fit.beta.high < 0.35
    assert errors("cephfs", pl.len().over("run") == 2).max() <= 0.10


def test_jobs_of_one_size_cannot_tell():
    data = load("one-size")
    fit = fit_model(data.jobs, data.slices).weight
    assert fit.chosen is None
    assert answer(fit).startswith("Cannot tell by what the storage is shared")


def test_fair_sharing_and_first_come_first_served_are_told_apart():
    (fair, _), (in_turn, _) = (recordings.read_delta(of(name)) for name in ("delta-glusterfs", "delta-turns"))
    assert fair.asymmetry < 0.1
    assert in_turn.asymmetry > 0.5
    for graph in (fair, in_turn):
        assert graph.points["point"].n_unique() == 5
        assert max(graph.peak.values()) == pytest.approx(2, abs=0.25)


def test_a_slow_device_behind_the_server_is_named_though_it_is_as_slow_alone():
    def zero_windows(name: str) -> tuple[float, float]:
        _, evidence = recordings.read_delta(of(name))
        return evidence.filter(pl.col("signal") == "tcp_zero_windows").select("alone", "together").row(0)

    quick, slow = zero_windows("delta-glusterfs"), zero_windows("delta-slow")
    assert min(slow) > 10
    assert min(slow) > 10 * max(quick)
    _, evidence = recordings.read_delta(of("delta-slow"))
    assert evidence.row(0, named=True)["cause"] == FLOW_CONTROL
    assert evidence.filter("full")["signal"].to_list() == ["tcp_zero_windows"]
    for name in ("delta-glusterfs", "delta-turns"):
        assert not recordings.read_delta(of(name))[1]["full"].any()


def test_the_figures_are_those_that_were_looked_at():
    assert measured.made("sharing") == measured.kept("sharing")
