"""What commands print fits terminals of 60, 80 and 200 columns: no line is too long, and no word is broken.

Each command runs once, and what it printed is laid out for each terminal. doctor and top tell of the machine, and
flamegraph and delta read need recordings that take long to read: these four are not tried.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
import rich.console
from rich.table import Table
from support.command_line import slicewise_command
from support.io500_results import write_result
from support.jobs import write_competing_jobs, write_job

WIDTHS = (60, 80, 200)
# So wide that everything has room.
WIDEST = 10_000
LEFT_OUT = re.compile(r"\(no\s+room\s+for:.*?\sterminal\s+has\s+them\)", re.DOTALL)
COMMANDS = (
    "list .", "report 48190 --html PAGE", "report 48190 --detail --phases", "blame 48190 --explain --html PAGE",
    "overlap 48213 48190 --alone alone-48190 --html PAGE", "compare alone-48190 48190 --html PAGE",
    "predict --copies alone-48190 --capacity 2GiB/s --html PAGE", "study campaign . --html PAGE",
    "study model check . --html PAGE", "predict alone-48213 alone-48190", "turns policy 48213 48190 --html PAGE",
    "turns probability . --html PAGE", "storage size 48190 --html PAGE", "storage expect ../io500",
    "storage place 48190 48213 --box ../io500 --html PAGE",
    "config", "catalog list ../catalog", "catalog show ../catalog 48190", "catalog overlaps ../catalog",
    "catalog worst ../catalog", "catalog quality ../catalog --all",
)  # fmt: skip


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two jobs that competed, a run alone of each, a catalog of them, and an IO500 result."""
    place = tmp_path_factory.mktemp("w")
    jobs = place / "jobs"
    write_competing_jobs(jobs)
    write_job(jobs / "alone-48213", 60, 12, {range(43): 102.0})
    write_job(jobs / "alone-48190", 12, 12, {range(39): 101.0}, program="/opt/postproc")
    assert slicewise_command("catalog", "ingest", place / "catalog", jobs).status == 0
    write_result(place / "io500" / "run", (0.05, 0.1), (2.0, 10))
    return jobs


def laid_out(printed: list[object], width: int) -> list[str]:
    """What a command printed, in lines for a terminal of this width."""
    console = rich.console.Console(file=io.StringIO(), width=width, highlight=False, force_terminal=False)
    console.print(*printed, sep="\n")
    return console.file.getvalue().splitlines()


def broken_words(printed: list[object], width: int) -> set[str]:
    """What stands on a terminal of this width as a word, and is none where there is room for all."""
    whole = set(" ".join(laid_out(printed, WIDEST)).split())
    told = LEFT_OUT.sub("", "\n".join(laid_out(printed, width)))
    # A word that no line can hold (a long path) has to be broken.
    parts = [word for word in whole if len(word) > width]
    return {word for word in told.split() if word not in whole and not any(word in part for part in parts)}


@pytest.mark.parametrize("command", COMMANDS)
def test_it_fits_and_breaks_no_word(command, jobs, tmp_path, monkeypatch):
    printed: list[object] = []

    class Recording(rich.console.Console):
        def print(self, *objects, **options):
            printed.extend(objects)

    monkeypatch.chdir(jobs)
    with monkeypatch.context() as patched:
        patched.setattr(rich.console, "Console", Recording)
        done = slicewise_command(*(tmp_path / "p.html" if word == "PAGE" else word for word in command.split()))
    assert done.status in (0, 1), done.errors
    assert printed
    for width in WIDTHS:
        assert [line for line in laid_out(printed, width) if len(line) > width] == [], width
        assert broken_words(printed, width) == set(), width


def test_a_broken_word_is_seen():
    table = Table("who", "lost", box=None)
    for column in table.columns:
        column.overflow = "fold"
    table.add_row("interference" * 3, "interference" * 4)
    assert broken_words([table], 60)
    assert not broken_words([table], 200)
