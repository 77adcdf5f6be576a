"""Keep the jobs of a site in a catalog, and ask it."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import polars as pl
import typer

from slicewise.analysis.site.jobs import LAST_NS, Wanted, list_jobs, named
from slicewise.analysis.site.quality import quality as site_quality
from slicewise.catalog.beside import partners
from slicewise.catalog.check import changes, check, missing_file, without_sums
from slicewise.catalog.find import places
from slicewise.catalog.ingest import ingest as take_in
from slicewise.catalog.kept import KeptDigest, KeptJob, find_job, key_text
from slicewise.catalog.prune import age_ns, prune_older
from slicewise.catalog.store import Catalog
from slicewise.errors import UserError
from slicewise.report.site.site_tables import (
    jobs_table,
    pairs_sentence,
    pairs_table,
    partners_table,
    quality_sentence,
    quality_table,
    records,
    unasked_table,
    worst_sentence,
    worst_table,
)
from slicewise.report.tables import for_terminal
from slicewise.running.dask_workers import workers_at
from slicewise.terminal.output import AsJson, OutputFile, PageFile, write_json, write_text
from slicewise.terminal.times import time_ns, user_number
from slicewise.text import words
from slicewise.text.safe_text import say

SOME_UNREAD = 1
MOST_ROWS = 20
app = typer.Typer(add_completion=False, rich_markup_mode=None)
# So often a question is asked again whose files somebody has put together with others meanwhile.
TIMES = 3
# What verify says of what it could not compare.
UNSUMMED = (
    "{catalog}: no checksums in {batches}, which an early build wrote: a bit that changed there is not found; "
    "for checksums, ingest the profiles into a new catalog"
)
CatalogPath = Annotated[Path, typer.Argument(metavar="CATALOG", help="The catalog's directory.")]


Command = Callable[..., None]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="SCHEDULER",
        help="Use the workers of this Dask scheduler: its address or its file; local: one process for each core here.",
    ),
]


def _steady(command: Command) -> Command:
    """The command, begun anew where a file is gone: a catalog may be changed while it is read."""

    @functools.wraps(command)
    def again(*arguments: object, **options: object) -> None:
        for _ in range(TIMES - 1):
            try:
                return command(*arguments, **options)
            except FileNotFoundError:
                pass
        try:
            return command(*arguments, **options)
        except FileNotFoundError as error:
            raise UserError(missing_file() or changes(error)) from error

    return again


@app.callback(invoke_without_command=True)
def _catalog(context: typer.Context) -> None:
    """Keep the jobs of a site in a catalog, and ask it."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def ingest(
    catalog: CatalogPath,
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Profiles, or directories with profiles anywhere below."),
    ],
    names: Annotated[
        Literal["plain", "hash"] | None,
        typer.Option(help="What a new catalog keeps: users, job names and paths, or salted hashes of them."),
    ] = None,
    show_names: Annotated[
        bool,
        typer.Option(
            "--show-names", help="In a new catalog: tell all users the names of their neighbours, not only its owner."
        ),
    ] = False,
    dask: Dask = None,
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Add profiles to a catalog, each job once. The catalog is made if it is not there.

    Run it again at any time: jobs that the catalog has are skipped, and an interrupted ingest is continued.

    Example: slicewise catalog ingest /site/catalog /home/*/slicewise
    """
    kept = Catalog.make(catalog, names == "hash", show_names)
    if names is not None and kept.has_names != (names == "plain"):
        has = "names as they are" if kept.has_names else "hashed names"
        raise UserError(f"{catalog}: was made with {has}, and a catalog keeps one kind; leave out --names {names}")
    found = places(paths)
    with (
        workers_at(dask) as workers,
        _progress(len(found), sum(place.size for place in found)) as progress,
    ):
        wait = functools.partial(say, f"{catalog}: somebody else changes it; waiting")
        done = take_in(kept, found, progress, wait, workers=workers)
    for line in done.unread:
        say(line)
    if json:
        write_json([done], output)
    else:
        parts = [
            f"{words.count(done.added, 'job')} added",
            *([f"{done.replaced} replaced by a fuller profile"] if done.replaced else []),
            *([f"{done.known} known already"] if done.known else []),
            *([f"{done.damaged} damaged in part"] if done.damaged else []),
            *([f"{words.count(len(done.unread), 'profile')} not readable and left out"] if done.unread else []),
        ]
        write_text([f"{catalog}: {', '.join(parts)}"], output)
    if done.unread:
        raise typer.Exit(SOME_UNREAD)


@contextmanager
def _progress(jobs: int, size: int) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal, else nothing."""
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


@app.command()
def prune(
    catalog: CatalogPath,
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="AGE", help="Days (90d), weeks (12w) or years (2y).")
    ],
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Remove the days that are older than some age. Profiles themselves stay where they are.

    Example: slicewise catalog prune /site/catalog --older-than 90d
    """
    age = age_ns(older_than)
    gone = prune_older(Catalog(catalog), age)
    if json:
        write_json(gone, output)
        return
    jobs = sum(day["jobs"] for day in gone)
    write_text([f"{catalog}: removed {words.count(len(gone), 'day')} with {words.count(jobs, 'job')}"], output)


@app.command()
@_steady
def verify(catalog: CatalogPath, json: AsJson = False, output: OutputFile = None) -> None:
    """Read all of a catalog and say what is wrong with it. Exit status 1 if anything is.

    Example: slicewise catalog verify /site/catalog
    """
    opened = Catalog(catalog)
    wrong = check(opened)
    if not wrong:
        unsummed = without_sums(opened.batches())
        if unsummed:
            say(UNSUMMED.format(catalog=catalog, batches=words.count(unsummed, "batch")))
    if json:
        write_json(wrong, output)
    elif wrong:
        write_text([f"{one['place']}: {one['what']}" for one in wrong], output)
    else:
        jobs, days = sum(batch.jobs for batch in opened.batches()), len(opened.days())
        write_text([f"{catalog}: {words.count(jobs, 'job')} on {words.count(days, 'day')}, all sound"], output)
    if wrong:
        raise typer.Exit(SOME_UNREAD)


User = Annotated[str | None, typer.Option("--user", metavar="USER", help="Only of this user: a name or a number.")]
Account = Annotated[str | None, typer.Option("--account", help="Only of this account.")]
Program = Annotated[str | None, typer.Option("--program", help="Only of this program: the executable's name.")]
Since = Annotated[
    str | None,
    typer.Option("--since", metavar="TIME", help="Only jobs that ended after TIME: 2026-11-22, or 2026-11-22T10:30."),
]
Until = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Only jobs that began before TIME.")]
Storage = Annotated[str | None, typer.Option("--storage", help="Only with bytes there: a mount point or a source.")]
Ask = Annotated[int | None, typer.Option("--ask", min=1, help="Ask blame about N jobs at most, one by one.")]
Most = Annotated[int, typer.Option("--most", min=1, help="The most rows to print.")]


@app.command("list")
@_steady
def list_(
    catalog: CatalogPath,
    user: User = None,
    account: Account = None,
    program: Program = None,
    since: Since = None,
    until: Until = None,
    storage: Storage = None,
    slowdown: Annotated[
        float | None,
        typer.Option(
            min=1, help="Only jobs that took at least this many times as long as alone. Asks blame for each job."
        ),
    ] = None,
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """List the jobs of a catalog, in order of their start.

    Example: slicewise catalog list /site/catalog --user anna --since 2026-11-22 --slowdown 1.5
    """
    opened = Catalog(catalog)
    found = list_jobs(opened, _wanted(user, account, program, since, until, storage))
    if slowdown is not None:
        from slicewise.analysis.site.worst import with_slowdown  # numpy comes along

        found = with_slowdown(opened, found).filter(pl.col("slowdown") >= slowdown)
    if json:
        write_json(records(found), output)
    else:
        write_text([for_terminal(jobs_table(found.iter_rows(named=True)))], output)


@app.command()
@_steady
def show(
    catalog: CatalogPath,
    job: Annotated[str, typer.Argument(metavar="JOB", help="A job's name, or its key.")],
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Show one job of a catalog: what it did on which file system, and who else was there.

    Example: slicewise catalog show /site/catalog 48213
    """
    opened = Catalog(catalog)
    kept = find_job(opened, job)
    start_ns, end_ns = kept.times
    found = list_jobs(opened, Wanted(since_ns=start_ns, until_ns=end_ns + 1), [kept.key])
    where = opened.scan("storages", [kept.batch]).filter(pl.col("key") == kept.key).collect()
    used = where.filter(pl.sum_horizontal("read_bytes", "write_bytes") > 0)
    beside = _named_partners(opened, kept)
    if json:
        storages = used.select("type", "source", "node", "point", "read_bytes", "write_bytes").to_dicts()
        write_json([records(found)[0] | {"storages": storages, "partners": records(beside)}], output)
        return
    damage = [damage.message for damage in KeptDigest(opened, kept).damage]
    lines = [
        f"Key {key_text(kept.key)}, from {kept.row['path']}",
        *(
            f"{point} ({kind}, {source}): {words.wrote_and_read(written, read)}"
            for point, kind, source, written, read in used.select(
                "point", "type", "source", "write_bytes", "read_bytes"
            ).iter_rows()
        ),
        *damage,
    ]
    beside_it = for_terminal(partners_table(beside.head(MOST_ROWS).iter_rows(named=True)))
    jobs = for_terminal(jobs_table(found.iter_rows(named=True)))
    write_text(
        [jobs, *lines, "", beside_it if beside.height else "Nobody else used its file systems meanwhile."], output
    )


@app.command()
@_steady
def overlaps(
    catalog: CatalogPath,
    job: Annotated[str | None, typer.Argument(metavar="[JOB]", help="Who was beside this job; else all pairs.")] = None,
    since: Since = None,
    until: Until = None,
    most: Most = 20,
    dask: Dask = None,
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """List which jobs used a file system at the same time, and for how long. Without times: on the catalog's last day.

    If there are too many jobs, it compares those that moved most, and says how many these are.

    Example: slicewise catalog overlaps /site/catalog --since 2026-11-22T08:00 --until 2026-11-22T12:00
    """
    opened = Catalog(catalog)
    if job is not None:
        found = _named_partners(opened, find_job(opened, job)).head(most)
        table = partners_table
    else:
        start_ns, end_ns = _window(opened, since, until)
        batches = opened.batches_between(start_ns, end_ns)
        with workers_at(dask) as workers:
            from slicewise.analysis.site.overlaps import pairs  # it imports numpy: list and show need none

            told = pairs(opened, batches, start_ns, end_ns, most, workers)
        found = named(opened, told.rows, batches)
        if told.jobs < told.of:
            say(f"{catalog}: {pairs_sentence(told)}")
        table = pairs_table
    if json:
        write_json(records(found), output)
    elif found.is_empty():
        write_text(["No two jobs used the same file system at the same time."], output)
    else:
        write_text([for_terminal(table(found.iter_rows(named=True)))], output)


@app.command()
@_steady
def quality(
    catalog: CatalogPath,
    since: Since = None,
    until: Until = None,
    every: Annotated[bool, typer.Option("--all", help="List the complete jobs, too.")] = False,
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Say how good the data are: what share of the bytes was seen, what is damaged, what is missing.

    Example: slicewise catalog quality /site/catalog --since 2026-11-22
    """
    opened = Catalog(catalog)
    found = site_quality(opened, _wanted(None, None, None, since, until, None).batches(opened))
    told = found if every else found.filter(~pl.col("is_good"))
    if json:
        write_json(records(told), output)
        return
    table = [for_terminal(quality_table(told.iter_rows(named=True)))] if told.height else []
    write_text([quality_sentence(found), *table], output)


@app.command()
@_steady
def worst(
    catalog: CatalogPath,
    since: Since = None,
    until: Until = None,
    most: Most = 20,
    asked: Ask = None,
    by: Annotated[
        Literal["job", "program", "user"], typer.Option(help="A row a job, or jobs added up by program or by user.")
    ] = "job",
    unasked: Annotated[
        bool,
        typer.Option(
            "--unasked", help="List the jobs that blame was not asked about, and the most that each can have lost."
        ),
    ] = False,
    dask: Dask = None,
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Say who lost most time to others, and who cost others most. Without times: on the catalog's last day.

    For more than 200 jobs one estimate of all takes the place of blame for each (docs/models.md says how far the two
    differ). With --ask N blame is asked about the N jobs that can have lost most. Answers are kept in the catalog.

    Example: slicewise catalog worst /site/catalog --since 2026-11-22 --ask 1000 --by program
    """
    from slicewise.analysis.site.worst import head, together, unasked_jobs  # numpy comes along
    from slicewise.analysis.site.worst import worst as ask

    opened = Catalog(catalog)
    with workers_at(dask) as workers:
        found = ask(opened, *_window(opened, since, until), asked, workers)
    if unasked:
        rows = unasked_jobs(opened, found)
        if not json:
            rows = rows.head(most)
    else:
        rows = head(found.rows if by == "job" else together(found, by), most)
    if json:
        write_json(records(rows), output)
        return
    line = worst_sentence(found)
    if unasked:
        table = [for_terminal(unasked_table(rows.iter_rows(named=True)))] if rows.height else []
        write_text([line, *table], output)
        return
    write_text([line, *([for_terminal(worst_table(rows.iter_rows(named=True), by))] if rows.height else [])], output)


@app.command()
@_steady
def page(
    catalog: CatalogPath,
    since: Since = None,
    until: Until = None,
    pages: Annotated[
        int, typer.Option(min=0, help="Also make pages of the first N jobs and pairs, and link their rows to them.")
    ] = 0,
    asked: Ask = None,
    seconds: Annotated[float, typer.Option(min=0, help="With --ask: stop asking after so many seconds.")] = 60,
    dask: Dask = None,
    html: PageFile = None,
) -> None:
    """Make the page of a day, a week or a month: load, who cost whom what, metadata, coverage.

    Without times: the last day.

    Example: slicewise catalog page /site/catalog --since 2026-11-22 --until 2026-11-23 --pages 50
    """
    # numpy and plotly come along
    from slicewise.analysis.site.summary import summary
    from slicewise.commands._catalog_pages import pages_of
    from slicewise.report.page import write_page
    from slicewise.report.site.site_page import site_page

    opened = Catalog(catalog)
    with workers_at(dask) as workers:
        found = summary(opened, *_window(opened, since, until), asked, seconds, workers)
    where = html or Path(f"catalog-{words.local_time(found.start_ns):%Y-%m-%d}.html")
    links = pages_of(opened, found, pages, where) if pages else {}
    told = site_page(found, str(catalog), links)
    write_page(told, where)
    made = f", and {words.count(len(links), 'page')} beside it" if links else ""
    write_text([*told.sentences, "", f"Page: {where}{made}"], None)


def _named_partners(catalog: Catalog, kept: KeptJob) -> pl.DataFrame:
    found = partners(catalog, kept)
    return named(catalog, found, catalog.batches_between(*kept.times))


def _window(catalog: Catalog, since: str | None, until: str | None) -> tuple[int, int]:
    """The time that is asked for; without any the last day of the catalog."""
    days = catalog.days()
    if not days:
        raise UserError(f"{catalog.path}: is empty; fill it with: slicewise catalog ingest {catalog.path} PROFILE...")
    start_ns = time_ns(since, "--since")
    end_ns = time_ns(until, "--until")
    if start_ns is None and end_ns is None:
        start_ns = time_ns(f"{days[-1]}T00:00+00:00", "")
    return start_ns or 0, LAST_NS if end_ns is None else end_ns


def _wanted(
    user: str | None,
    account: str | None,
    program: str | None,
    since: str | None,
    until: str | None,
    storage: str | None,
) -> Wanted:
    return Wanted(user_number(user), account, program, time_ns(since, "--since"), time_ns(until, "--until"), storage)
