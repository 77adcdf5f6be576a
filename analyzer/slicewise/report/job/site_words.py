"""Call sites in words, as a table, as a part of a page and as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from slicewise.analysis.job.sites import BESIDE_CALLS, Sites, is_of_calls, totals
from slicewise.charts.flame import estimated_from, flame
from slicewise.constants import MAINLY
from slicewise.report.page import Section
from slicewise.report.tables import Cell, Column, Table
from slicewise.scalars import real
from slicewise.symbols.resolve import CodePlace
from slicewise.text import words

if TYPE_CHECKING:
    from slicewise.report.over_time import FigureKind, OverTime

MOST_SITES = 20
# Frames that the table shows of a site: who called the function, and who called that.
SHOWN_FRAMES = 3
# Sites below this share of the time are for the flame graph alone, unless there are few.
LEAST_SHARE, FEW_SITES = 0.005, 8
# Of fewer samples a site's share is off by a third and more (binomial): they do not say where most time goes.
FEWEST_STACKS = 10
# Of the time in calls: with so much on pipes and the like, waiting for another program is not to be called I/O.
MUCH_ELSEWHERE = 0.1


def sites_record(found: Sites) -> list[dict[str, Any]]:
    """The key `sites` of JSON output, see docs/commands.md."""
    return [
        {"stack": [vars(place) for place in found.stacks[row.pop("stack")]], **row} for row in totals(found).to_dicts()
    ]


def site_lines(found: Sites, of: str = "") -> Iterator[str]:
    """Where most of the time in I/O calls went (of other samples: most of what they show); nothing where too few calls
    were sampled to tell, or most of that time was on pipes and the like: it is a wait for another program."""
    of_io = is_of_calls(found)
    if found.samples["samples"].sum() < FEWEST_STACKS or (of_io and found.elsewhere > MAINLY):
        return
    found = _alike(found)
    frame = totals(found).head(1)
    for row in frame.iter_rows(named=True):
        stack = found.stacks[row["stack"]]
        share = row["seconds"] / found.samples["seconds"].sum()
        calls = "I/O calls" if found.elsewhere < MUCH_ELSEWHERE else "calls on files, pipes, sockets and devices"
        most = of or (f"time in {calls}" if of_io else "sampled time")
        within = "" if stack[-1].function in BESIDE_CALLS.values() else "in "
        yield f"Most {most} ({words.percent(share, 2)}) is spent {within}{place_words(stack)}."


def sites_section(found: Sites, slices: range, slice_ns: int, axis: range) -> Section:
    """The flame graph and the table of the sites with most time. axis: the slices of the page's figures."""
    return Section(
        f"Call sites: where in the program the time {'in I/O calls ' if is_of_calls(found) else ''}goes",
        text=["Each call is as wide as what it costs; click one to enlarge it, and the top one to come back."],
        flame=flame(found, slices, slice_ns),
        tables=[sites_table(found, slice_ns, axis)],
        note=estimated_from(found),
    )


def sites_table(found: Sites, slice_ns: int, axis: range | None = None) -> Table:
    """One row a call site, those with most time. axis: the slices of a page, for figures of a chosen time."""
    table = Table(
        [Column("call", is_figure=False), Column("from", is_figure=False), Column("at", is_figure=False),
         Column("time", "s"), Column("of all"), Column("bytes", "bytes"), Column("calls"), Column("processes"),
         Column("seen", is_figure=False)]
    )  # fmt: skip
    total = real(found.samples["seconds"].sum())
    found = _alike(found)
    rows = totals(found).with_row_index("place")
    shown = rows.head(MOST_SITES).filter((pl.col("place") < FEW_SITES) | (pl.col("seconds") >= LEAST_SHARE * total))
    for row in shown.iter_rows(named=True):
        stack = found.stacks[row["stack"]]
        callers = _shown_callers(stack)
        time, size, calls = _over_time(found, row, axis) if axis else (None, None, None)
        table.add(
            stack[-1].function,
            " → ".join(place.function for place in callers),
            _short(callers[-1]) if callers else "",
            Cell(words.duration(row["seconds"]), row["seconds"], over_time=time),
            words.percent(row["seconds"] / total, 2),
            Cell(words.size(round(row["bytes"])), round(row["bytes"]), over_time=size),
            Cell(f"{row['calls']:,.0f}", round(row["calls"]), over_time=calls),
            f"{row['processes']:,}",
            words.span(row["first_slice"] * slice_ns, (row["last_slice"] + 1) * slice_ns, slice_ns),
        )
    return table


def _alike(found: Sites) -> Sites:
    """Stacks that the table shows alike, since they differ in their outer callers alone, as the first of them."""
    first: dict[tuple[object, ...], int] = {}
    same = {}
    for stack in totals(found)["stack"]:
        *_, called = found.stacks[stack]
        callers = _shown_callers(found.stacks[stack])
        at = _short(callers[-1]) if callers else ""
        same[stack] = first.setdefault((called.function, *(place.function for place in callers), at), stack)
    return replace(found, samples=found.samples.with_columns(pl.col("stack").replace(same)))


def _shown_callers(stack: tuple[CodePlace, ...]) -> tuple[CodePlace, ...]:
    return stack[-1 - SHOWN_FRAMES : -1]


def _over_time(found: Sites, row: Mapping[str, Any], axis: range) -> list[OverTime | None]:
    from slicewise.report.over_time import sums  # brings numpy along

    samples = found.samples.filter(pl.col("stack") == row["stack"])
    columns: tuple[tuple[FigureKind, str], ...] = (("duration", "seconds"), ("size", "bytes"), ("count", "calls"))
    return [sums(kind, samples, [column], axis, [row[column]]) for kind, column in columns]


# Files of languages' own libraries and of packages: who changes a program looks for the line of it that calls these.
OF_A_LIBRARY = re.compile(
    r"^<frozen|^\./(csu|io|libio|misc|nptl|stdio-common|sysdeps)/|^/usr/(include|lib|src)/|(^\./|/Python-[^/]*/)(Modules|Objects|Python)/"
    r"|/(lib/python3[^/]*|site-packages|dist-packages)/|^/rustc/"
)
# The same by their names, in programs without lines: of C++ and of Rust, whose linker may write `<` as `_$LT$`.
STANDARD = re.compile(r"^(_?\$LT\$|[<&])*(std|core|alloc)(::|\.\.)")
# Modules of systems, in which nobody changes anything; and those of interpreters, which are no part of a script.
OF_THE_SYSTEM = re.compile(r"^(lib(c|m|pthread|stdc\+\+|gfortran|quadmath)|ld-linux.*)[-.]")
OF_AN_INTERPRETER = re.compile(
    r"^(lib)?(python|perl|R|ruby|julia|jvm|java|node|oct(ave|interp)|lua|tcl|bash|dash|sh|zsh|ksh)([-.0-9]|$)"
)


def place_words(stack: tuple[CodePlace, ...]) -> str:
    is_call = stack[-1].function not in BESIDE_CALLS.values()
    called = f"{stack[-1].function}()" if is_call else stack[-1].function
    if len(stack) < 2:
        return called
    caller, callers = stack[-2], stack[-2::-1]
    has_script = any(place.file and not place.module for place in callers)
    own = next(
        (
            place
            for place in callers
            if place.file
            and not OF_A_LIBRARY.search(place.file)
            and not (has_script and OF_AN_INTERPRETER.search(place.module))
        ),
        next(
            (
                place
                for place in callers
                if place.module and not OF_THE_SYSTEM.search(place.module) and not STANDARD.search(place.function)
            ),
            caller,
        ),
    )
    where = f" ({_short(own)})" if own.file and own.file != own.function else ""
    how = "in" if not is_call else "called by" if own is caller else "called for"
    return f"{called} {how} {own.function}{where}"


def _short(place: CodePlace) -> str:
    line = f":{place.line}" if place.line else ""
    return f"{Path(place.file).name}{line}" if place.file else place.module
