"""What `slicewise report --detail` shows on the terminal: sentences and two small tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import RenderableType

from slicewise.analysis.job.io_time import files_without_row
from slicewise.analysis.job.totals import JobTotals
from slicewise.analysis.nodes.causes import moved
from slicewise.contract import advice
from slicewise.digest.digest import Digest
from slicewise.digest.layers import ALL_LAYERS
from slicewise.digest.processes import program_names
from slicewise.kinds import KINDS
from slicewise.report import columns
from slicewise.report.coverage import coverage_words
from slicewise.report.job.phase_words import phase_lines, phases_table
from slicewise.report.job.run_lines import access_lines, refill_lines, turn_lines, without_row
from slicewise.report.nodes.node_words import cgroup_line, node_lines, nodes_table, of_cgroups
from slicewise.report.tables import Cell, Column, Table, for_terminal, line_for_terminal
from slicewise.scalars import whole
from slicewise.text import words

if TYPE_CHECKING:  # numpy would come along
    from slicewise.analysis.job.phases import Phases

MOST_MOUNTS = 8
LAYER_TITLES = {"posix": "POSIX", "stdio": "stdio", "async": "requests", "mpiio": "MPI-IO", ALL_LAYERS: "all layers"}


def info_lines(digest: Digest, summary: JobTotals, phases: Phases | None) -> list[RenderableType]:
    """Who and when, what was moved, its phases if given, what the nodes did, how much was seen, what is missing, what
    to do next.
    """
    lines: list[RenderableType] = [*_job(digest, summary), ""]
    lines += [for_terminal(_totals_table(summary)), *access_lines(summary), ""]
    if summary.mounts:
        lines += [for_terminal(_mounts_table(summary)), ""]
    if phases is not None:
        lines += phase_lines(phases)
        lines += [for_terminal(phases_table(phases, digest.slice_ns))] if phases.phases.height else []
        lines += [""]
    of_nodes = moved(digest)
    of_group, of_nodes = of_nodes.filter(of_cgroups()), of_nodes.filter(~of_cgroups())
    if of_group.height:
        lines += [cgroup_line(of_group), for_terminal(nodes_table(of_group, digest.node_slice_ns)), ""]
    if of_nodes.height:
        lines += node_lines(of_nodes)
        lines += [for_terminal(nodes_table(of_nodes, digest.node_slice_ns)), ""]
    lines += [*_elsewhere(summary)]
    if of_files := without_row(files_without_row(digest)):
        lines.append(of_files)
    lines += [*_seen(summary), *_trouble(digest, summary)]
    lines += [line_for_terminal((damage.message, "yellow")) for damage in summary.damage]
    lines += [f"{note}." for note in digest.notes]
    lines += ["", f"Next: slicewise report {digest.path}"]
    return lines


def _job(digest: Digest, summary: JobTotals) -> Iterator[RenderableType]:
    programs = words.some(program_names(digest.processes))
    where = words.processes_on_nodes(summary.processes, len(summary.hosts))
    parts = [f": {programs}, {where}{f' ({words.some(summary.hosts)})' if summary.hosts else ''}"]
    if summary.ranks:
        world = f" of {summary.ranks_of:,}" if summary.ranks_of > summary.ranks else ""
        parts.append(f", {summary.ranks:,}{world} MPI ranks")
        if summary.other_processes:
            helpers = words.count(summary.other_processes, "process without a rank", "processes without a rank")
            parts.append(f"; {helpers} (mpirun and the like) not counted here")
    yield line_for_terminal("Job ", (summary.job, "bold"), *parts)
    start_ns, end_ns = whole(digest.about["start_ns"]), whole(digest.about["end_ns"])
    if end_ns > start_ns:
        when = f"{words.span(start_ns, end_ns, digest.slice_ns)} ({words.duration((end_ns - start_ns) / 1e9)})"
    else:
        when = f"from {words.clock(start_ns, digest.slice_ns)}"
    slices = words.slices_of(summary.slices, digest.slice_ns)
    yield f"{words.date_and_zone(start_ns)}, {when}; I/O in {slices}"
    yield from words.asked(digest.about)
    yield from refill_lines(summary)
    yield from turn_lines(summary)


def _totals_table(summary: JobTotals) -> Table:
    """Calls on files by layer and kind; what a layer has none of is left out."""
    table = Table(
        [Column("on files", is_figure=False), Column("", is_figure=False), Column("calls"), Column("bytes", "bytes"),
         Column("time in calls", "s"), Column("slowest", "s")]
    )  # fmt: skip
    for layer, sums in summary.totals.items():
        title = LAYER_TITLES[layer]
        for kind in KINDS:
            calls, moved = sums[f"{kind}_ops"], sums.get(f"{kind}_bytes")
            if not calls and not moved:
                continue
            seconds, slowest = sums[f"{kind}_seconds"], sums.get(f"{kind}_slowest_seconds")
            table.add(
                title, kind, Cell(f"{calls:,}", calls), Cell(words.size(moved), moved) if moved is not None else "",
                Cell(words.duration(seconds), seconds),
                words.UNKNOWN if slowest is None else Cell(words.duration(slowest), slowest),
            )  # fmt: skip
            title = ""
        if sums.get("errors"):
            table.add(title, "failed", Cell(f"{sums['errors']:,}", sums["errors"]), "", "", "")
    if not table.rows:
        table.add("nothing", "", "", "", "", "")
    return table


def _mounts_table(summary: JobTotals) -> Table:
    return columns.table(
        summary.mounts[:MOST_MOUNTS],
        columns.text("mount", lambda row: row["point"] or "unknown"),
        columns.text("type", "type", spare=2),
        columns.text("source", "source", spare=3),
        columns.count("processes", "processes", spare=1),
        columns.size("read", "read_bytes"),
        columns.size("written", "write_bytes"),
        more=len(summary.mounts) - MOST_MOUNTS,
    )


def _elsewhere(summary: JobTotals) -> Iterator[str]:
    """Bytes of pipes, sockets and the like, which are in no total."""
    parts = [
        f"{name} {words.size(moved)}"
        for name, sums in summary.by_object.items()
        if name != "file" and (moved := sums["read_bytes"] + sums["write_bytes"])
    ]
    if parts:
        yield f"Not on files, and in none of these: {', '.join(parts)}."


def _seen(summary: JobTotals) -> Iterator[str]:
    coverage, cost = summary.coverage, summary.profiler
    seen = coverage_words.seen(coverage, says_bytes=True)
    profiling = f"; profiling cost {words.percent(cost.share_of_runtime, 2)} of the runtime"
    yield f"{seen[0].upper()}{seen[1:]}{'' if coverage.imported else profiling}."
    yield from coverage_words.gap_lines(coverage)


def _trouble(digest: Digest, summary: JobTotals) -> Iterator[str]:
    meanings = digest.meanings("mishaps")
    for name, times in summary.mishaps.items():
        meaning = meanings.get(name, "unknown to this profile")
        yield f"Problem {name}, {words.count(times, 'time')}: {meaning}. {advice(name)}".rstrip()
