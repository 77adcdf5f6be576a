"""Keep the jobs of a site in a catalog, and ask it."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import polars as pl

from slicewise.analysis.site.jobs import LAST_NS, Wanted, list_jobs, named
from slicewise.analysis.site.summary import quality as site_quality
from slicewise.catalog.check import changes, check, missing_file, without_sums
from slicewise.catalog.find import places
from slicewise.catalog.ingest import ingest as take_in
from slicewise.catalog.kept import KeptDigest, find_job, key_text
from slicewise.catalog.neighbours import partners
from slicewise.catalog.prune import age_ns, prune_older
from slicewise.catalog.store import Catalog
from slicewise.errors import UserError
from slicewise.report.site import site_tables
from slicewise.report.tables import for_terminal
from slicewise.terminal.output import wants_json, write_answer, write_text
from slicewise.terminal.times import time_ns, user_number
from slicewise.text import words
from slicewise.text.safe_text import say

SOME_UNREAD = 1
OF_STORAGE = ("type", "source", "node", "point", "read_bytes", "write_bytes")
MOST_ROWS = 20
# So often a question is asked again whose files somebody has put together with others meanwhile.
TIMES = 3
# What verify says of what it could not compare.
UNSUMMED = (
    "{catalog}: no checksums in {batches}, which an early build wrote: a bit that changed there is not found; "
    "for checksums, ingest the profiles into a new catalog"
)


Command = Callable[..., None]


def _steady(command: Command) -> Command:
    """The command, begun anew where a file is gone: a catalog may be changed while it is read."""

    @functools.wraps(command)
    def again(*arguments: object, **options: object) -> None:
        for left in reversed(range(TIMES)):
            try:
                return command(*arguments, **options)
            except FileNotFoundError as error:
                if not left:
                    raise UserError(missing_file() or changes(error)) from error

    return again


def ingest(catalog: Path, paths: list[Path], names: Literal["plain", "hash"] | None, show_names: bool) -> None:
    kept = Catalog.make(catalog, names == "hash", show_names)
    if names is not None and kept.has_names != (names == "plain"):
        has = "names as they are" if kept.has_names else "hashed names"
        raise UserError(f"{catalog}: was made with {has}, and a catalog keeps one kind; leave out --names {names}")
    found = places(paths)
    with _progress(len(found), sum(place.size for place in found)) as progress:
        wait = functools.partial(say, f"{catalog}: somebody else changes it; waiting")
        done = take_in(kept, found, progress, wait)
    for line in done.unread:
        say(line)
    parts = [
        f"{words.count(done.added, 'job')} added",
        *([f"{done.replaced} replaced by a fuller profile"] if done.replaced else []),
        *([f"{done.known} known already"] if done.known else []),
        *([f"{done.damaged} damaged in part"] if done.damaged else []),
        *([f"{words.count(len(done.unread), 'profile')} not readable and left out"] if done.unread else []),
    ]
    write_answer(lambda: [done], [f"{catalog}: {', '.join(parts)}"])
    if done.unread:
        raise SystemExit(SOME_UNREAD)


@contextmanager
def _progress(jobs: int, size: int) -> Iterator[Callable[[int, int], None]]:
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda jobs, size: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        BarColumn(),
        DownloadColumn(binary_units=True),
        TextColumn("{task.fields[jobs]:,}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=size, jobs=0)
        done = 0

        def advance(more: int, more_bytes: int) -> None:
            nonlocal done
            done += more
            bar.update(task, advance=more_bytes, jobs=f"{done:,} of {jobs:,} profiles")

        yield advance


def prune(catalog: Path, older_than: str) -> None:
    age = age_ns(older_than)
    gone = prune_older(Catalog(catalog), age)
    jobs = sum(day["jobs"] for day in gone)
    removed = f"{catalog}: removed {words.count(len(gone), 'day')} with {words.count(jobs, 'job')}"
    write_answer(lambda: gone, [removed])


@_steady
def verify(catalog: Path) -> None:
    opened = Catalog(catalog)
    wrong = check(opened)
    if not wrong:
        unsummed = without_sums(opened.batches())
        if unsummed:
            say(UNSUMMED.format(catalog=catalog, batches=words.count(unsummed, "batch")))
    lines = [f"{one['place']}: {one['what']}" for one in wrong]
    if not wrong:
        jobs, days = sum(batch.jobs for batch in opened.batches()), len(opened.days())
        lines = [f"{catalog}: {words.count(jobs, 'job')} on {words.count(days, 'day')}, all sound"]
    write_answer(lambda: wrong, lines)
    if wrong:
        raise SystemExit(SOME_UNREAD)


@_steady
def list_(
    catalog: Path,
    user: str | None,
    account: str | None,
    program: str | None,
    since: str | None,
    until: str | None,
    storage: str | None,
    slowdown: float | None,
) -> None:
    opened = Catalog(catalog)
    times = time_ns(since, "--since"), time_ns(until, "--until")
    found = list_jobs(opened, Wanted(user_number(user), account, program, *times, storage))
    if slowdown is not None:
        from slicewise.analysis.site.worst import with_slowdown  # numpy comes along

        found = with_slowdown(opened, found).filter(pl.col("slowdown") >= slowdown)
    write_answer(
        lambda: site_tables.records(found), [for_terminal(site_tables.jobs_table(found.iter_rows(named=True)))]
    )


@_steady
def show(catalog: Path, job: str) -> None:
    opened = Catalog(catalog)
    kept = find_job(opened, job)
    start_ns, end_ns = kept.times
    found = list_jobs(opened, Wanted(since_ns=start_ns, until_ns=end_ns + 1), [kept.key])
    where = opened.scan("storages", [kept.batch]).filter(pl.col("key") == kept.key).collect()
    used = where.filter(pl.sum_horizontal("read_bytes", "write_bytes") > 0)
    beside = named(opened, partners(opened, kept, with_own_node=False), opened.batches_between(*kept.times))
    storages = used.select(OF_STORAGE).to_dicts()
    damage = [damage.message for damage in KeptDigest(opened, kept).damage]
    lines = [
        f"Key {key_text(kept.key)}, from {kept.row['path']}",
        *(
            f"{point} ({kind}, {source}): {words.wrote_and_read(written, read)}"
            for kind, source, _, point, read, written in used.select(OF_STORAGE).iter_rows()
        ),
        *damage,
    ]
    beside_it = for_terminal(site_tables.partners_table(beside.head(MOST_ROWS).iter_rows(named=True)))
    jobs = for_terminal(site_tables.jobs_table(found.iter_rows(named=True)))
    write_answer(
        lambda: [site_tables.records(found)[0] | {"storages": storages, "partners": site_tables.records(beside)}],
        [jobs, *lines, "", beside_it if beside.height else "Nobody else used its file systems meanwhile."],
    )


@_steady
def quality(catalog: Path, since: str | None, until: str | None, every: bool) -> None:
    opened = Catalog(catalog)
    wanted = Wanted(since_ns=time_ns(since, "--since"), until_ns=time_ns(until, "--until"))
    found = site_quality(opened, wanted.batches(opened))
    told = found if every else found.filter(~pl.col("is_good"))
    table = [for_terminal(site_tables.quality_table(told.iter_rows(named=True)))] if told.height else []
    write_answer(lambda: site_tables.records(told), [site_tables.quality_sentence(found), *table])


@_steady
def worst(
    catalog: Path,
    since: str | None,
    until: str | None,
    most: int,
    asked: int | None,
    by: Literal["job", "program", "user"],
    unasked: bool,
) -> None:
    from slicewise.analysis.site.worst import head, together, unasked_jobs  # numpy comes along
    from slicewise.analysis.site.worst import worst as ask

    opened = Catalog(catalog)
    found = ask(opened, *_window(opened, since, until), asked)
    if unasked:
        rows = unasked_jobs(opened, found)
        if not wants_json():
            rows = rows.head(most)
    else:
        rows = head(found.rows if by == "job" else together(found, by), most)
    each = rows.iter_rows(named=True)
    table = for_terminal(site_tables.unasked_table(each) if unasked else site_tables.worst_table(each, by))
    write_answer(
        lambda: site_tables.records(rows), [site_tables.worst_sentence(found), *([table] if rows.height else [])]
    )


@_steady
def variation(catalog: Path, since: str | None, until: str | None, asked: int | None) -> None:
    from slicewise.analysis.site.variation import variation as find  # numpy comes along
    from slicewise.analysis.site.worst import worst as ask

    opened = Catalog(catalog)
    times = _window(opened, since, until)
    found = find(opened, *times, ask(opened, *times, asked))
    table = [for_terminal(site_tables.repeats_table(found.sets.iter_rows(named=True)))] if found.runs else []
    write_answer(lambda: site_tables.variation_record(found), [site_tables.variation_sentence(found), *table])


@_steady
def page(
    catalog: Path,
    since: str | None,
    until: str | None,
    asked: int | None,
    seconds: float,
    html: Path | None,
) -> None:
    # numpy and plotly come along
    from slicewise.analysis.site.summary import summary
    from slicewise.report.page import write_page
    from slicewise.report.site.site_page import site_page

    opened = Catalog(catalog)
    found = summary(opened, *_window(opened, since, until), asked, seconds)
    told = site_page(found, str(catalog))
    where = write_page(told, html or Path(f"catalog-{words.local_time(found.start_ns):%Y-%m-%d}.html"))
    write_text([*told.sentences, "", f"Page: {where}"])


def _window(catalog: Catalog, since: str | None, until: str | None) -> tuple[int, int]:
    days = catalog.days()
    if not days:
        raise UserError(f"{catalog.path}: is empty; fill it with: slicewise catalog ingest {catalog.path} PROFILE...")
    start_ns = time_ns(since, "--since")
    end_ns = time_ns(until, "--until")
    if start_ns is None and end_ns is None:
        start_ns = time_ns(f"{days[-1]}T00:00+00:00", "")
    return start_ns or 0, LAST_NS if end_ns is None else end_ns
