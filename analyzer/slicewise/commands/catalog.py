"""The jobs of a site: take profiles into a catalog, and ask it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer

from slicewise.catalog.check import check
from slicewise.catalog.find import places
from slicewise.catalog.ingest import ingest as take_in
from slicewise.catalog.prune import age_ns, prune_older
from slicewise.catalog.store import Catalog
from slicewise.errors import UserError
from slicewise.terminal.output import AsJson, OutputFile, write_json, write_text
from slicewise.text import words
from slicewise.text.safe_text import say

SOME_UNREAD = 1
app = typer.Typer(add_completion=False, rich_markup_mode=None)
CatalogPath = Annotated[Path, typer.Argument(metavar="CATALOG", help="The catalog's directory.")]


@app.callback(invoke_without_command=True)
def _catalog(context: typer.Context) -> None:
    """The jobs of a site: take profiles into a catalog, and ask it."""
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
        typer.Option(help="Of a new catalog: whether users, job names and paths are kept, or salted hashes of them."),
    ] = None,
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Take profiles into a catalog, each job once. It is made if it is not there.

    Run it again at any time: what is in the catalog already is passed over, and what was cut short goes on.

    Example: slicewise catalog ingest /site/catalog /home/*/slicewise
    """
    kept = Catalog.make(catalog, names == "hash")
    if names is not None and kept.has_names != (names == "plain"):
        has = "names as they are" if kept.has_names else "hashed names"
        raise UserError(f"{catalog}: was made with {has}, and a catalog keeps one kind; leave out --names {names}")
    found = places(paths)
    with _progress(len(found), sum(place.size for place in found)) as progress:
        done = take_in(kept, found, progress, lambda: say(f"{catalog}: somebody else changes it; waiting"))
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
def verify(catalog: CatalogPath, json: AsJson = False, output: OutputFile = None) -> None:
    """Read all of a catalog and say what is wrong with it. Exit status 1 if anything is.

    Example: slicewise catalog verify /site/catalog
    """
    opened = Catalog(catalog)
    wrong = check(opened)
    if json:
        write_json(wrong, output)
    elif wrong:
        write_text([f"{one['place']}: {one['what']}" for one in wrong], output)
    else:
        jobs, days = sum(batch.jobs for batch in opened.batches()), len(opened.days())
        write_text([f"{catalog}: {words.count(jobs, 'job')} on {words.count(days, 'day')}, all sound"], output)
    if wrong:
        raise typer.Exit(SOME_UNREAD)
