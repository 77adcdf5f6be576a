"""A job's own transfer sizes: what better ones save, in lines, tables and JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

from slicewise.analysis.size.job import JobSizes, SiteSize, SizeCost
from slicewise.analysis.size.points import Curve
from slicewise.digest.quality import imported
from slicewise.report import columns
from slicewise.report.job.site_words import place_words
from slicewise.report.page import Section
from slicewise.report.records import picked
from slicewise.report.size.size_report import VERBS
from slicewise.report.tables import Cell, Table
from slicewise.text import words

MOST_SITES = 8
MOST_STRIPES = 3
PROFILE_NOTES = (
    "A bandwidth from a profile is bytes divided by the seconds that the slowest process spent in calls and syncs; "
    "a latency is the mean of all calls. Where the page cache took the bytes, both are those of the cache.",
    "A job counts as beside another one in slices in which another given job, or one whose profile lies beside, "
    "moved bytes there. Other company is not known.",
)


def job_lines(found: JobSizes) -> list[str]:
    """The sentences on the job: what is saved, why nothing is, whose code it is, how its files are striped."""
    job = found.digest.job
    if not found.costs:
        source = imported(found.digest)
        if source is not None:
            return [
                f"Unknown what the transfer sizes of {job} cost it: it was imported from {source.source}, which lacks "
                "the sizes of calls. Profile the job with slicewise run."
            ]
        return [f"{job} moved too little to tell of transfer sizes."]
    lines = [_saving(job, cost) for cost in found.saved]
    lines += [_no_saving(job, cost) for cost in found.costs if not cost.is_claimed]
    lines += list(_code(found))
    return lines + list(_stripes(found))


def _size(cost: SizeCost) -> str:
    accesses = cost.accesses
    if accesses.size is not None:
        return words.size(accesses.size)
    return f"several sizes ({words.size(round(accesses.mean_size))} in the mean)"


def _what(cost: SizeCost) -> str:
    curve = cost.accesses.curve
    return f"{VERBS[curve.direction]} of {_size(cost)} on {curve.mount}"


def _saving(job: str, cost: SizeCost) -> str:
    assert cost.saved is not None
    saved = cost.saved
    share = words.percent(saved.value / cost.accesses.seconds, 2)
    return (
        f"{job} would save {words.duration(saved.value)} {words.interval(saved.low, saved.high)} of its "
        f"{words.duration(cost.accesses.seconds)} in {_what(cost)} ({share}) with calls of {words.size(cost.better)}: "
        f"by {cost.how}."
    )


def _no_saving(job: str, cost: SizeCost) -> str:
    spent = f"{job} spent {words.duration(cost.accesses.seconds)} in {_what(cost)}"
    if cost.saved is not None:
        return f"{spent}: no larger size would save more than chance or a trifle, as told by {cost.how}."
    return (
        f"{spent}. What another size would save is unknown: {cost.how}. Measure it with slicewise storage measure DIR "
        "on that "
        "file system, or give profiles of runs with other sizes."
    )


def _code(found: JobSizes) -> Iterator[str]:
    """The call site that most of the time comes from, of each direction that is told of."""
    for direction in dict.fromkeys(cost.accesses.curve.direction for cost in found.saved or found.costs[:1]):
        of_direction = [site for site in found.site_sizes if site.direction == direction]
        if of_direction:
            site = of_direction[0]
            yield (
                f"{words.percent(site.share, 2)} of the time in {VERBS[direction]} comes from "
                f"{place_words(found.sites.stacks[site.stack])}, in calls of {words.size(round(site.mean_size))}."
            )


def _stripes(found: JobSizes) -> Iterator[str]:
    for stripes in found.stripes[:MOST_STRIPES]:
        yield (
            f"{stripes.path} lies in stripes of {words.size(stripes.size)} on "
            f"{words.count(stripes.count, 'object')}; calls of whole stripes use them best."
        )


def costs_table(costs: Sequence[SizeCost]) -> Table:
    def interval(cost: SizeCost) -> str:
        return words.interval(cost.saved.low, cost.saved.high) if cost.saved is not None and cost.is_claimed else ""

    return columns.table(
        costs,
        columns.text("of", lambda cost: _calls_of(cost.accesses.curve)),
        columns.count("calls", lambda cost: cost.accesses.calls),
        columns.size("mean size", lambda cost: round(cost.accesses.mean_size)),
        columns.duration("time", lambda cost: cost.accesses.seconds),
        columns.duration("a call takes", lambda cost: cost.accesses.call_seconds / cost.accesses.calls),
        columns.size("better size", lambda cost: cost.better if cost.is_claimed else None, none=Cell("")),
        columns.duration("saves", lambda cost: cost.saved.value if cost.saved else None),
        columns.text("interval (s)", interval),
    ).without_empty_columns()


def _calls_of(curve: Curve) -> str:
    return f"{curve.access} {VERBS[curve.direction]}, {curve.sharing}, {curve.mount}"


def sites_table(found: JobSizes) -> Table:
    # Stacks that differ only in their outer callers read alike: one row has them all.
    alike: dict[tuple[str, str], list[SiteSize]] = {}
    for site in found.site_sizes:
        alike.setdefault((place_words(found.sites.stacks[site.stack]), site.direction), []).append(site)
    rows = []
    for (place, _), sites in alike.items():
        seconds, share, calls = (sum(getattr(site, name) for site in sites) for name in ("seconds", "share", "calls"))
        rows.append((place, seconds, share, calls, sum(site.mean_size * site.calls for site in sites) / calls))
    return columns.table(
        sorted(rows, key=lambda row: -row[1])[:MOST_SITES],
        columns.text("call", lambda row: row[0]),
        columns.duration("time", lambda row: row[1]),
        columns.said("of its direction", lambda row: row[2], lambda share: words.percent(share, 2)),
        columns.figure("calls", lambda row: Cell(f"{row[3]:,.0f}", round(row[3]))),
        columns.figure("mean size", lambda row: Cell(words.size(round(row[4])), row[4]), "bytes"),
    )


def job_tables(found: JobSizes) -> list[Table]:
    if not found.costs:
        return []
    return [costs_table(found.costs), *([sites_table(found)] if found.site_sizes else [])]


def job_sections(found: JobSizes) -> list[Section]:
    if not found.costs:
        return []
    return [
        Section(
            heading=f"What its own sizes cost {found.digest.job}",
            text=job_lines(found),
            tables=job_tables(found),
            note="Seconds are those of the process with most. Call sites are sampled: their figures are estimates.",
        )
    ]


def job_record(found: JobSizes) -> dict[str, Any]:
    """The key `job` of JSON output, see docs/commands.md."""
    return {
        "job": found.digest.job,
        "costs": [_cost(cost) for cost in found.costs],
        "sites": [
            {**vars(site), "stack": [vars(place) for place in found.sites.stacks[site.stack]]}
            for site in found.site_sizes
        ],
        "stripes": [vars(stripes) for stripes in found.stripes],
        "sentences": job_lines(found),
    }


def _cost(cost: SizeCost) -> dict[str, Any]:
    accesses = cost.accesses
    return {
        **picked(accesses.curve, "mount", "direction", "access", "sharing", "processes"),
        **picked(accesses, "size", "mean_size", "calls", "bytes", "seconds"),
        "latency": accesses.call_seconds / accesses.calls,
        **picked(cost, better_size="better", saved_seconds="saved", is_claimed="is_claimed", how="how"),
    }
