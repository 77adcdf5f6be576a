"""One job's report: the page with its summary, all details, or the flame graph."""

from pathlib import Path

from slicewise.errors import UserError


def report(
    profile: Path,
    detail: bool,
    phases: bool,
    flamegraph: bool,
    slices: str | None,
    symbols: list[Path],
    html: Path | None,
) -> None:
    if detail and (flamegraph or html):
        raise UserError(f"report: --detail makes no page; leave out {'--flamegraph' if flamegraph else '--html'}")
    if (phases and not detail) or (slices and not flamegraph):
        option, needed = ("--phases", "--detail") if phases else ("--slices", "--flamegraph")
        raise UserError(f"report: {option} goes with {needed}; add {needed}")
    # One of the three is imported: details wait for no page.
    if detail:
        from slicewise.commands.info import info

        info(profile, phases)
    elif flamegraph:
        from slicewise.commands.flamegraph import flamegraph as show

        show(profile, slices or "", symbols, html)
    else:
        from slicewise.commands.report import report as page

        page(profile, html, symbols)
