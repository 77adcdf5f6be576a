"""Numbers with their units, as people read them."""

import io
import math
import re
import time
from pathlib import Path

import pytest
import rich.console
from rich.table import Table
from slicewise.analysis.size.points import write_table
from slicewise.estimate import Estimate
from slicewise.text import words
from support.command_line import slicewise_command
from support.io500_results import write_result
from support.jobs import write_competing_jobs, write_job
from support.size_tables import measured

MIB = 1 << 20
NOON = 1_700_000_000_000_000_000
WIDTHS = (60, 80, 200)
# So wide that everything has room.
WIDEST = 10_000
LEFT_OUT = re.compile(r"\(no\s+room\s+for:.*?\sterminal\s+has\s+them\)", re.DOTALL)
COMMANDS = (
    "list .", "report 48190 --html PAGE", "report 48190 --detail --phases", "blame 48190 --explain --html PAGE",
    "overlap 48213 48190 --alone alone-48190 --html PAGE", "compare alone-48190 48190 --html PAGE",
    "predict --copies alone-48190 --capacity 2GiB/s --html PAGE", "study campaign . --html PAGE",
    "predict alone-48213 alone-48190", "turns policy 48213 48190 --html PAGE",
    "turns probability . --html PAGE", "storage size --table ../sizes.csv --html PAGE", "storage expect ../io500",
    "storage place 48190 48213 --box ../io500 --html PAGE",
    "config", "catalog list ../catalog", "catalog show ../catalog 48190",
    "catalog worst ../catalog", "catalog quality ../catalog --all",
)  # fmt: skip


SAID = {
    words.number: {
        0: "0", 83.123: "83.1", 0.0456: "0.0456", 9.996: "10.0", 99.96: "100", 12345.6: "12,346", -4.03: "-4.03",
        0.00001234: "1.23e-05", math.nan: "unknown", math.inf: "∞", None: "unknown",
    },
    words.size: {
        0: "0 B", 999: "999 B", 1024: "1 KiB", 4 * MIB: "4 MiB", 15.6 * 1024 * MIB: "15.6 GiB",
        1024 * MIB - 1: "1.00 GiB", None: "unknown",
    },
    words.duration: {
        0: "0 s", 0.0123: "12.3 ms", 128e-9: "128 ns", 4.032: "4.03 s", 203.4: "203 s", 318: "5 min 18 s",
        3599.9: "1 h", 7500: "2 h 5 min",
    },
    words.percent: {
        0.041: "4.10 %", 0.9998: "99.98 %", 0.999999: "99.99 %", 1.0: "100 %", 6e-6: "under 0.01 %", 0: "0 %",
    },
    words.signed_percent: {0.012: "+1 %", -0.123: "-12 %", 0.004: "+0.4 %", -0.0001: "+0 %", None: "unknown"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("say", "value", "said"), [(say, value, said) for say, table in SAID.items() for value, said in table.items()]
)
def test_a_value_with_its_unit(say, value, said):
    assert say(value) == said


def test_rates_are_in_mebibytes_a_second_whatever_their_size():
    assert words.rate(83.1 * MIB) == "83.1 MiB/s"
    assert words.rate(2150 * MIB) == "2,150 MiB/s"
    assert words.rate(5) == "under 0.0001 MiB/s"
    assert words.rate(0) == "0 MiB/s"


@pytest.mark.parametrize(
    ("written", "read", "said"),
    [
        (432 * MIB, 19 << 10, "wrote 432 MiB"),
        (432 * MIB, MIB, "wrote 432 MiB and read 1 MiB"),
        (0, MIB, "read 1 MiB"),
        (0, 0, "wrote 0 B and read 0 B"),
    ],
)
def test_a_direction_next_to_nothing_is_not_told(written, read, said):
    assert words.wrote_and_read(written, read) == said


def test_an_interval_around_nothing():
    assert words.interval(-0.1, 0.3) == "[-0.100 to 0.300]"


@pytest.mark.parametrize("low", [-1.38, -0.02, 0.0, 0.89])
@pytest.mark.parametrize("width", [0.005, 0.49, 60.0])
def test_an_interval_has_no_two_hyphens(low, width):
    assert words.interval(low, low + width).count("-") <= 1 + (low + width < 0)
    assert "--" not in words.interval(low, low + width)
    assert words.interval_of_percents(Estimate(0.0, low / 100, (low + width) / 100, "")) == words.interval(
        low, low + width
    )


def test_an_interval_has_the_digits_that_tell_its_ends_apart():
    assert words.interval(17.0, 17.001) == "[17.000-17.001]"
    assert words.interval(17.0, 17.0) == "[17.0-17.0]"


def test_estimates_show_their_interval():
    assert words.estimate_of_seconds(Estimate(171.2, 164.4, 178.3, "by hand")) == "171 s [164-178]"


@pytest.mark.parametrize(
    ("ratio", "is_first_larger", "said"),
    [
        (4.42, True, "4.4 to 1"),
        (5, True, "5 to 1"),
        (0.2, False, "5 to 1"),
        (0.5, True, "1 to 2"),
        (0.0, True, "nothing to all"),
    ],
)
def test_ratios_of_two_jobs(ratio, is_first_larger, said):
    assert words.one_to_other(ratio, is_first_larger) == said


def test_counts_have_their_nouns():
    assert words.count(1, "process") == "1 process"
    assert words.processes_on_nodes(1024, 20) == "1,024 processes on 20 nodes"
    assert words.slices_of(51, 4_000_000_000) == "51 slices of 4 s"
    assert words.slices_of(1, 100_000_000) == "1 slice of 0.1 s"


def test_listing():
    assert [words.listing("ABC"[:length]) for length in range(4)] == ["", "A", "A and B", "A, B and C"]


def test_times_of_day(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    assert words.span(NOON, NOON + 4_000_000_000) == "22:13:20 to 22:13:24"
    assert words.span(NOON, NOON + 7_200_000_000_000) == "2023-11-14 22:13:20 to 2023-11-15 00:13:20"
    assert words.clock(NOON + 500_000_000, 500_000_000) == "22:13:20.5"
    assert words.date_and_zone(NOON) == "2023-11-14, UTC+00:00"
    assert words.iso_time(NOON) == "2023-11-14T22:13:20.000000+00:00"


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
    write_table(measured(0.05, 4), place / "sizes.csv")
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
