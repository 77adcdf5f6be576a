"""Writes docs/validation.md from campaigns: `python -m testbed.validation CAMPAIGNS PAGE`.

CAMPAIGNS holds a directory of profiles for each of `PLANS` and of `blame_plans.STORAGES`, as
`python -m testbed.validation --run BUILD CAMPAIGNS` makes them: what is there already is not run again.
`--pack CAMPAIGNS ARCHIVES` makes an archive of each, and a directory of archives is as good as CAMPAIGNS for the page.
Every figure of it is computed from those profiles, and from published ones.
"""

from __future__ import annotations

import atexit
import functools
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import polars as pl
from slicewise.analysis.delta import DeltaGraph, graph_and_evidence
from slicewise.analysis.runs.campaign import Campaign, campaign
from slicewise.analysis.sharing import fitted_model as fitted
from slicewise.analysis.sharing.fitted_model import cross_check, fit_model, with_held_out
from slicewise.analysis.sharing.weights import Weighting
from slicewise.digest.describe import folded
from slicewise.digest.digest import several
from slicewise.profile.many import read_profiles
from slicewise.report.delta.delta_page import peaks, verdict
from slicewise.report.model import outlier_words
from slicewise.report.model.model_tables import capacity_lines
from slicewise.report.model.weight_words import answer
from slicewise.report.nodes.evidence import evidence_table, evidence_words
from support import published

from testbed import blame_page, blame_plans, servers
from testbed.markdown import table
from testbed.nodes import ENDS_WITH_PARENT, is_installed

MIB = 1 << 20
PAIRS = "1+4 1+12 2+6 2+10 4+12 6+10 10+12"
ALONE = "1 2 4 6 10 12"
ON_NODES = "2/1 4/2 6/3 10/5 2/1+6/3 4/2+10/5 2/1+10/5"
MORE = "1+4+6@1 2+4*0.5@1+6+10*1.5@2"
OFFSETS = "4 4@4+4 4@2+4 4+4 4+4@2 4+4@4"
# So much that a job alone takes some seconds, and all campaigns an hour; and small calls, so that 22 of them wait in
# the link's queue for less time than TCP gives an answer (200 ms).
SIZES = ["--volume", "128", "--load", "--fsync --transfer 256K"]
DELTA = ["--load", "--fsync --transfer 256K", "--server-samples"]
SHARED = ["--volume", "128", "--load", "--fsync --transfer 256K --shared"]
# name: server, runs, repeats, further options
PLANS: dict[str, tuple[str, str, int, list[str]]] = {
    "glusterfs": ("glusterfs", f"{ALONE} {PAIRS} {ON_NODES} {MORE}", 5, SIZES),
    "sshfs": ("sshfs", f"{ALONE} {PAIRS} {ON_NODES} {MORE}", 5, SIZES),
    "glusterfs-shared": ("glusterfs", f"{ALONE} {PAIRS} {ON_NODES}", 5, SHARED),
    "sshfs-shared": ("sshfs", f"{ALONE} {PAIRS} {ON_NODES}", 5, SHARED),
    "one-size": ("glusterfs", "4 4+4", 3, SIZES),
    "delta-glusterfs": ("glusterfs", OFFSETS, 3, DELTA),
    "delta-turns": ("sshfs-turns", OFFSETS, 3, DELTA),
    "delta-slow": ("sshfs-slow", OFFSETS, 3, ["--volume", "96", *DELTA]),
    "cephfs": ("cephfs", f"{ALONE} {PAIRS} {MORE}", 3, SIZES),
}
# Left out where their servers are not installed.
OPTIONAL = {"cephfs"}
# Largest and mean |RE| of runtimes that are aimed at.
AIMS = {
    "glusterfs": (0.05, 0.025),
    "sshfs": (0.09, 0.05),
    "glusterfs-shared": (0.15, None),
    "sshfs-shared": (0.15, None),
}
MORE_JOBS_AIM = 0.10
TITLE = """# Validation

Real contention on one machine: network namespaces as compute nodes, a file server behind one link of 400 Mbit/s, jobs
of `slicewise-load` under `slicewise run`, each alone and together, round robin (`tests/testbed`). Runtimes are
predicted by models that have not seen the combination of jobs that they predict: weight, capacity and all are fitted
to the other runs. RE is (predicted - observed) / observed. `make validation` wrote this page from profiles; all
figures are computed from them. What `slicewise blame` tells of lost time is held against recordings of its own, at
the end.
"""


def main() -> None:
    """Runs campaigns, or writes the page."""
    if sys.argv[1] == "--run":
        run_campaigns(Path(sys.argv[2]), Path(sys.argv[3]))
    elif sys.argv[1] == "--pack":
        pack(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        Path(sys.argv[2]).write_text(page(unpacked(Path(sys.argv[1]))), encoding="utf-8")


def run_campaigns(build: Path, campaigns: Path) -> None:
    """Runs those campaigns whose profiles are not there; stops at the first that cannot be run."""
    for name, words in _commands(build, campaigns).items():
        if (campaigns / name / "complete").exists():
            continue
        if name in OPTIONAL and not all(map(is_installed, servers.needs(name))):
            print(f"validation: {name}: left out, for it needs {', '.join(servers.needs(name))}", flush=True)
            continue
        command = [*ENDS_WITH_PARENT, sys.executable, "-m", *words, "--timeout", "7200"]
        if subprocess.run(command, check=False).returncode != 0:
            sys.exit(f"validation: {name}: the campaign failed")
        (campaigns / name / "complete").touch()


def _commands(build: Path, campaigns: Path) -> dict[str, list[str]]:
    """The module that records each campaign, and its arguments."""
    found = {}
    for name, (server, runs, repeats, options) in PLANS.items():
        found[name] = ["testbed.campaign", str(build), str(campaigns / name), "--server", server]
        found[name] += ["--runs", runs, "--repeats", str(repeats), *options]
    for storage in blame_plans.STORAGES:
        name = blame_plans.recording_of(storage)
        found[name] = ["testbed.blame_campaign", str(build), str(campaigns / name), "--storage", storage]
    return found


def pack(campaigns: Path, archives: Path) -> None:
    """Makes an archive of each campaign that is complete."""
    for name in _commands(Path(), campaigns):
        if (campaigns / name / "complete").exists():
            shutil.make_archive(str(archives / name), "xztar", campaigns, name)


@functools.cache
def unpacked(directory: Path) -> Path:
    """Where campaigns lie that `directory` has archives of, as long as this process lives; itself if it has none."""
    archives = sorted(directory.glob("*.tar.xz"))
    if not archives:
        return directory
    target = Path(tempfile.mkdtemp(prefix="slicewise-campaigns-"))
    atexit.register(shutil.rmtree, target, ignore_errors=True)
    for archive in archives:
        shutil.unpack_archive(archive, target)
    for notes in directory.glob("*.md"):
        shutil.copy(notes, target)
    return target


def page(campaigns: Path) -> str:
    """The page's text."""
    parts = [TITLE, *_notes(campaigns), _published()]
    for name in PLANS:
        directory = campaigns / name
        if not directory.is_dir():
            parts.append(f"## {name}\n\nThis campaign was not run.\n")
        elif name.startswith("delta-"):
            parts.append(_delta(name, directory))
        else:
            parts.append(_shares(name, directory))
    return folded("\n".join([*parts, *_closed_windows(campaigns), *blame_page.section(campaigns)]))


def _notes(campaigns: Path) -> list[str]:
    """What whoever recorded the campaigns says of them."""
    notes = campaigns / "NOTES.md"
    return [notes.read_text(encoding="utf-8")] if notes.exists() else []


def _published() -> str:
    lines = ["## Published pairs (Kuo 2013, tables 1 to 3, typed in)\n"]
    rows = []
    for mode in ("private", "shared"):
        jobs, slices = published.jobs_of(mode), published.slices_of(mode)
        model = replace(fit_model(jobs, slices), basis="standalone times")
        for kind in ("processes", "nodes"):
            errors = fitted.check(model, jobs, Weighting(kind))["relative_error"].abs()
            rows.append([f"{mode}, shares by {kind}", _percent(errors.max()), _percent(errors.mean())])
        errors = cross_check(jobs, slices)["relative_error"].abs()
        rows.append(
            [f"{mode}, weight and capacity by the other pairs", _percent(errors.max()), _percent(errors.mean())]
        )
        lines.append(f"In {mode} mode: {answer(model.weight)}\n")
    return "\n".join([*lines, table(["runtimes of six pairs", "largest \\|RE\\|", "mean \\|RE\\|"], rows)])


@functools.cache
def read_campaign(directory: Path) -> Campaign:
    """What a directory of profiles holds, of writing; read once."""
    return campaign(several(read_profiles([directory])), "write")


@functools.cache
def read_delta(directory: Path) -> tuple[DeltaGraph, pl.DataFrame]:
    """The Delta-graph of a directory's profiles, and the evidence for causes in them."""
    data = campaign(several(read_profiles([directory])), "write", is_by_name=True)
    return graph_and_evidence(directory.name, data, Weighting("processes"))


@functools.cache
def checked_by_others(directory: Path) -> pl.DataFrame:
    """`cross_check` of a campaign."""
    data = read_campaign(directory)
    return cross_check(data.jobs, data.slices)


def _shares(name: str, directory: Path) -> str:
    data, checked = read_campaign(directory), checked_by_others(directory)
    model = with_held_out(fit_model(data.jobs, data.slices), checked)
    parts = [f"## {name}\n", f"{answer(model.weight)}\n", "\n".join(capacity_lines(model)) + "\n"]
    parts += [_alone(data), _together(data)]
    if model.weight.chosen is not None and not checked.is_empty():
        parts.append(_checked(name, checked))
    return "\n".join([*parts, _server_counters(directory)])


def _alone(data: Campaign) -> str:
    """Tables 1 and 2: throughput of each size alone, mean and relative standard deviation over runs."""
    alone = data.jobs.filter(pl.len().over("run") == 1).with_columns(rate=pl.col("bytes") / pl.col("seconds") / MIB)
    rows = [
        [str(pair), str(len(runs)), f"{runs['rate'].mean():.1f}", _percent(_rsd(runs["rate"].to_list()))]
        for (pair,), runs in alone.sort("processes", "nodes").group_by("pair", maintain_order=True)
    ]
    return table(["processes alone", "runs", "MiB/s", "RSD"], rows)


def _together(data: Campaign) -> str:
    """Table 3: overall and overlap throughput of each combination, ratios, and the overlap's spread over runs."""
    overlap = (
        data.slices.filter(pl.len().over("run", "slice") > 1)
        .group_by("pair", "run", "job")
        .agg(in_overlap=pl.col("bytes").sum() / pl.col("seconds").sum() / MIB)
    )
    jobs = (
        data.jobs.filter(pl.len().over("run") > 1)
        .with_columns(overall=pl.col("bytes") / pl.col("seconds") / MIB)
        .join(overlap.select("run", "job", "in_overlap"), on=["run", "job"], how="left")
        .sort("pair", "run", "processes", "job")
        .with_columns(place=pl.int_range(pl.len()).over("run"))
    )
    rows = []
    for (pair,), runs in jobs.group_by("pair", maintain_order=True):
        by_place = runs.group_by("place", maintain_order=True).agg(
            pl.col("overall").mean(), mean=pl.col("in_overlap").mean(), rates="in_overlap"
        )
        in_overlap = by_place["mean"].to_list()
        known = None not in in_overlap
        rows.append(
            [
                str(pair),
                str(runs["run"].n_unique()),
                " / ".join(f"{rate:.1f}" for rate in by_place["overall"]),
                " / ".join(f"{rate:.1f}" for rate in in_overlap) if known else "too short",
                " : ".join(f"{rate / in_overlap[0]:.2f}" for rate in in_overlap) if known else "",
                " / ".join(_percent(_rsd(rates)) for rates in by_place["rates"]) if known else "",
            ]
        )
    headings = ["processes together", "runs", "overall, MiB/s", "in the overlap, MiB/s", "ratio there", "RSD over runs"]
    return table(headings, rows)


def _checked(name: str, checked: pl.DataFrame) -> str:
    stood_out = checked.filter("is_outlier")
    checked = checked.filter(~pl.col("is_outlier"))
    rows = [
        [
            str(pair),
            " / ".join(sorted({str(kind) for kind in runs["weight"]})),
            str(runs["run"].n_unique()),
            _percent(runs["relative_error"].abs().max()),
            _percent(runs["relative_error"].abs().mean()),
        ]
        for (pair,), runs in checked.group_by("pair", maintain_order=True)
    ]
    of_two = checked.filter(pl.len().over("run") == 2)["relative_error"].abs()
    of_more = checked.filter(pl.len().over("run") > 2)["relative_error"].abs()
    lines = []
    if name in AIMS and len(of_two):
        lines.append(_judged("Pairs", of_two, *AIMS[name]))
    if len(of_more):
        lines.append(_judged("Three jobs and more, with starts and volumes of their own", of_more, MORE_JOBS_AIM, None))
    lines += [
        f"Left out, for it stood out among its repeats ({outlier_words.BY_HOW_MUCH}): {pair}, observed "
        f"{' / '.join(f'{seconds:.2f} s' for seconds in runs['observed'])}, |RE| "
        f"{_percent(runs['relative_error'].abs().max())} at most."
        for (pair, _), runs in stood_out.group_by("pair", "run", maintain_order=True)
    ]
    headings = ["runtimes held out", "shares by", "runs", "largest \\|RE\\|", "mean \\|RE\\|"]
    return "\n".join([table(headings, rows), *(f"{line}\n" for line in lines)])


def _judged(what: str, errors: pl.Series, largest: float, mean: float | None) -> str:
    said = f"{what}: |RE| {_percent(errors.max())} at most (aim {_percent(largest)}), "
    said += f"{_percent(errors.mean())} in the mean"
    said += f" (aim {_percent(mean)})" if mean is not None else ""
    missed = [
        _percent(found - aim) for found, aim in ((errors.max(), largest), (errors.mean(), mean)) if aim and found > aim
    ]
    return f"{said}. {'Missed by ' + ' and '.join(missed) + '.' if missed else 'Met.'}"


def _delta(name: str, directory: Path) -> str:
    graph, evidence = read_delta(directory)
    means = graph.points.group_by("point", "name").agg(pl.col("seconds").mean(), runs=pl.len()).sort("point", "name")
    rows = [
        [f"{point:+.2f}", str(runs["runs"][0]), *(f"{seconds:.2f}" for seconds in runs["seconds"])]
        for (point,), runs in means.group_by("point", maintain_order=True)
    ]
    alone = ", ".join(f"{job} {seconds:.2f} s" for job, seconds in graph.alone_seconds.items())
    shown = table(["B after A by, s", "runs", "A, s", "B, s"], rows)
    words = f"{verdict(graph)} {peaks(graph)} Alone: {alone}."
    parts = [f"## {name}\n", f"{words}\n", shown, _server_counters(directory)]
    if len(evidence):
        found = evidence_table(evidence)
        rows = [[cell.text for cell in row] for row in found.rows]
        parts += [f"{evidence_words(evidence)}\n", table([column.heading for column in found.columns], rows)]
    return "\n".join(parts)


def _closed_windows(campaigns: Path) -> list[str]:
    """How often windows of TCP closed in each Delta-graph, by the collectors' samples."""
    rows = []
    for name in PLANS:
        if not name.startswith("delta-") or not (campaigns / name).is_dir():
            continue
        _, evidence = read_delta(campaigns / name)
        for found in evidence.filter(pl.col("signal") == "tcp_zero_windows").iter_rows(named=True):
            rows.append([name, f"{found['alone']:.1f}", f"{found['together']:.1f}"])
    shown = table(["windows closed, opened or wanted closed, times/s", "alone", "together"], rows)
    return ["## Closed windows\n", shown] if rows else []


def _server_counters(directory: Path) -> str:
    """What the server's TCP counters did, alone and together."""
    log = directory / "server-tcp.jsonl"
    if not log.exists():
        return ""
    runs = [json.loads(line) for line in log.read_text().splitlines()]
    rows = []
    for counter in sorted(runs[0].keys() - {"run"}):
        alone = [run[counter] for run in runs if "+" not in run["run"]]
        together = [run[counter] for run in runs if "+" in run["run"]]
        rows.append([counter, *(f"{statistics.mean(found):.0f}" if found else "" for found in (alone, together))])
    return table(["the server's TCP counters, mean of a run", "alone", "together"], rows)


def _percent(fraction: float | None) -> str:
    return "" if fraction is None else f"{100 * fraction:.1f} %"


def _rsd(values: list[float]) -> float:
    return statistics.pstdev(values) / statistics.mean(values)


if __name__ == "__main__":
    main()
