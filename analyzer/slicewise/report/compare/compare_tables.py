"""The tables of compared runs, the same for the terminal and for the page."""

from slicewise.analysis.compare.compare import Comparison
from slicewise.analysis.compare.difference import PARTS, WORTH_A_WORD, Difference
from slicewise.estimate import Estimate
from slicewise.report import columns
from slicewise.report.compare.compare_words import PART_NAMES
from slicewise.report.tables import NOTHING, Cell, Column, Table
from slicewise.text import words

# Less than this fraction of the runtime is shown as nothing.
NEXT_TO_NOTHING = 0.0005


def parts_table(comparison: Comparison) -> Table:
    """Two runs: a row a part, what each run took for it, and their difference. Columns add up to the last row."""
    told = comparison.told
    table = Table(
        [
            Column("part", is_figure=False),
            Column(told.against.job.job, "s"),
            Column(told.of.job.job, "s"),
            Column("difference", "s"),
            Column("interval", "s", is_figure=False),
        ],
        title="Where the runtime went",
    )
    former = told.former_loss.seconds.value if told.former_loss else 0.0
    then, now = told.against, told.of
    own = then.io_ns / 1e9 - former
    lost = told.lost_seconds
    rows: list[tuple[str, float, float, float, Estimate | None]] = [
        ("outside I/O calls", then.computing_ns / 1e9, now.computing_ns / 1e9, told.computing_seconds, None),
        ("own I/O", own, own + told.own_io.seconds.value, told.own_io.seconds.value, told.own_io.seconds),
    ]
    if then.waited_ns or now.waited_ns:
        rows.insert(1, ("waiting for its turn", then.waited_ns / 1e9, now.waited_ns / 1e9, told.waiting_seconds, None))
    for name, before, after, more, estimate in rows:
        _add(table, told, name, _time(told, before), _time(told, after), more, estimate)
    for part in PARTS:
        found = told.own_io.parts[part]
        if found is None:
            table.add(Cell(f"  {PART_NAMES[part]}"), NOTHING, NOTHING, words.UNKNOWN, NOTHING)
        elif abs(found.value) >= WORTH_A_WORD * told.longer_seconds:
            _add(table, told, f"  {PART_NAMES[part]}", NOTHING, NOTHING, found.value, found)
    if lost is not None:
        _add(table, told, "lost to neighbours", _time(told, former), _time(told, former + lost.value), lost.value, lost)
    else:
        table.add("lost to neighbours", NOTHING, NOTHING, words.UNKNOWN, NOTHING)
    rest = told.unexplained_seconds
    _add(table, told, "unexplained", _time(told, 0.0), _time(told, rest.value), rest.value, rest)
    first, second = (_time(told, run.runtime_ns / 1e9) for run in (then, now))
    _add(table, told, "runtime", first, second, told.difference_seconds, None)
    return table


def runs_table(comparison: Comparison) -> Table:
    """Several runs: a row a run, and why it took another time than the one that they are compared with."""
    has_turns = any(run.waited_ns for run in comparison.runs)
    measured = ("computing", *(["waiting"] if has_turns else []), "own_io")
    table = Table(
        [
            Column("run", is_figure=False),
            Column("runtime", "s"),
            Column("difference", "s"),
            Column("outside I/O calls", "s"),
            *([Column("waiting for its turn", "s")] if has_turns else []),
            Column("own I/O", "s"),
            Column("lost to neighbours", "s"),
            Column("unexplained", "s"),
            Column("confidence", is_figure=False),
        ],
        title=f"Against {comparison.chosen} run, {comparison.against.job.job}",
    )
    found = {told.of.job.job: told for told in comparison.differences}
    for run in comparison.runs:
        name, seconds = run.job.job, run.runtime_ns / 1e9
        runtime = Cell(words.seconds(seconds), seconds)
        told = found.get(name)
        if told is None:
            table.add(name, runtime, *[NOTHING] * (3 + len(measured)), "the run to compare with")
            continue
        parts = told.parts()
        lost = Cell(words.UNKNOWN, "") if told.lost_seconds is None else _more(told, parts["lost"])
        table.add(
            name,
            runtime,
            _more(told, told.difference_seconds),
            *(_more(told, parts[part]) for part in measured),
            lost,
            _more(told, parts["unexplained"]),
            told.confidence,
        )
    return table


def work_table(comparison: Comparison) -> Table:
    return columns.table(
        comparison.runs,
        columns.text("run", lambda run: run.job.job),
        columns.text("program", lambda run: run.job.program),
        columns.count("processes", lambda run: run.processes),
        columns.count("nodes", lambda run: run.job.nodes),
        columns.seconds("in I/O calls", lambda run: run.io_ns / 1e9),
        columns.size("written", lambda run: run.total("write", "bytes")),
        columns.count("write calls", lambda run: run.total("write", "calls")),
        columns.size("read", lambda run: run.total("read", "bytes")),
        columns.count("read calls", lambda run: run.total("read", "calls")),
        columns.count("metadata calls", lambda run: run.total("meta", "calls")),
    )


def signed(seconds: float, longer: float) -> str:
    """A difference such as "+1.9 s"; "0 s" where it is next to nothing beside the longer runtime."""
    if abs(seconds) < NEXT_TO_NOTHING * longer:
        return "0 s"
    return f"{'+' if seconds > 0 else '-'}{words.seconds(abs(seconds))}"


def interval(estimate: Estimate, longer: float) -> str:
    """Such as "[-0.2 to +1.9]"; empty where the ends say the same as the value."""
    ends = [signed(end, longer).removesuffix(" s") for end in (estimate.low, estimate.high)]
    return f"[{ends[0]} to {ends[1]}]" if ends[0] != ends[1] else ""


def _add(
    table: Table, told: Difference, name: str, then: Cell, now: Cell, more: float, estimate: Estimate | None
) -> None:
    said = interval(estimate, told.longer_seconds) if estimate else ""
    table.add(name, then, now, _more(told, more), said)


def _more(told: Difference, seconds: float) -> Cell:
    return Cell(signed(seconds, told.longer_seconds), seconds)


def _time(told: Difference, seconds: float) -> Cell:
    if abs(seconds) < NEXT_TO_NOTHING * told.longer_seconds:
        return Cell("0 s", 0.0)
    return Cell(f"{words.number(seconds)} s", seconds)
