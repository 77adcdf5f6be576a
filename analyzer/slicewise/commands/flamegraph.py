"""Show where in the program the I/O time goes, and other time if it was sampled: a flame graph of call sites."""

from pathlib import Path

from slicewise.analysis.job.sites import Sites, sites
from slicewise.catalog.sources import read_digest
from slicewise.charts.flame import estimated_from
from slicewise.digest.digest import Digest
from slicewise.errors import UserError
from slicewise.report.job.site_words import site_lines, sites_record, sites_section, sites_table
from slicewise.report.over_time import TimeAxis
from slicewise.report.page import Page, Step, command, page_path, write_page
from slicewise.report.tables import for_terminal
from slicewise.scalars import whole
from slicewise.terminal.output import page_line, write_answer
from slicewise.text import words


def flamegraph(profile: Path, slices: str, symbols: list[Path], html: Path | None) -> None:
    read = read_digest(profile, in_sum=True)
    found, shown = _within(sites(read, symbols, has_all=True), read, slices)
    page = write_page(_page(found, read, shown), html or page_path(profile, f"flamegraph-{read.job}"))
    write_answer(
        lambda: {"first_slice": shown.start, "end_slice": shown.stop, "sample_seconds": found.sample_seconds,
                 "sites": sites_record(found), "page": str(page)},
        [*site_lines(found), "", for_terminal(sites_table(found, read.slice_ns)), "", estimated_from(found),
         page_line(page)],
    )  # fmt: skip


def _within(found: Sites, read: Digest, slices: str) -> tuple[Sites, range]:
    """The call sites of the slices asked for, and those slices. Raises UserError where there are none."""
    if found.samples.is_empty():
        raise UserError(
            f"{read.path}: has no samples of call sites: the job spent too little time in I/O for one, or ran with "
            "SLICEWISE_SITE_MS=0"
        )
    all_slices = range(whole(found.samples["slice"].min()), whole(found.samples["slice"].max()) + 1)
    if not slices:
        return found, all_slices
    try:
        first, end = (int(word) if word else default for word, default in
                      zip(slices.split(":"), (all_slices.start, all_slices.stop), strict=True))  # fmt: skip
    except ValueError as error:
        raise UserError(f"--slices {slices}: is not FIRST:END, such as {all_slices.start}:{all_slices.stop}") from error
    chosen = found.samples.filter((found.samples["slice"] >= first) & (found.samples["slice"] < end))
    if chosen.is_empty():
        raise UserError(
            f"--slices {slices}: no call site was sampled there; "
            f"the run's slices are {all_slices.start}:{all_slices.stop}"
        )
    return Sites(found.stacks, chosen, found.sample_seconds), range(first, end)


def _page(found: Sites, read: Digest, shown: range) -> Page:
    when = words.span(shown.start * read.slice_ns, shown.stop * read.slice_ns, read.slice_ns)
    return Page(
        title=f"{read.job}: call sites",
        kicker=f"Slicewise flame graph of {read.job}, {words.date_and_zone(shown.start * read.slice_ns)}, {when}",
        sentences=list(site_lines(found)),
        sections=[sites_section(found, shown, read.slice_ns, shown)],
        axis=TimeAxis(shown, read.slice_ns),
        unseen=[damage.message for damage in read.damage],
        steps=[Step("See all that the job did:", command("report", read.path))],
    )
