"""Every command that `slicewise` lists is one; its help is soon there, fits the terminal, and has a sound example."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from slicewise import cli, overview
from slicewise.commands import GROUPS
from slicewise.terminal.help_text import parts_of
from support.command_line import slicewise_command

# Processor time that help may take beyond Python's own.
MOST_SECONDS = 0.15
WIDTHS = (60, 80, 200)


def leaves(command, path):
    """The commands that run something, with the words that call them."""
    parts = getattr(command, "commands", {})
    if not parts:
        return [(path, command)]
    return [leaf for name, part in parts.items() for leaf in leaves(part, [*path, name])]


OPTIONS_PAGE = (Path(__file__).parents[2] / "docs" / "options.md").read_text(encoding="utf-8")
ALL = {" ".join(path): command for name in overview.files() for path, command in leaves(cli._load(name), [name])}


@pytest.mark.parametrize("name", [*sorted(overview.files()), *sorted(ALL)])
def test_help(name):
    done = slicewise_command(*name.split(), "--help")
    assert (done.status, done.errors) == (0, "")
    assert f"Usage: slicewise {name}" in " ".join(done.text.split())
    assert "<" not in done.text, "typer's own words"
    assert "OPTIONS" not in done.text, "typer's own words"
    form = " ".join(done.text.partition("\n\n")[0].split()).removeprefix("Usage: ")
    assert name not in ALL or f"```text\n{form}\n```" in OPTIONS_PAGE, "docs/options.md calls it otherwise"


def test_no_part_of_a_command_is_listed():
    assert not {"catalog-pages", "-catalog-pages"} & set(overview.files())


def test_every_command_is_in_one_group():
    listed = [name for names in GROUPS.values() for name in names]
    assert sorted(listed) == sorted(overview.files()), "commands/__init__.py: GROUPS"


@pytest.mark.parametrize("name", sorted(ALL))
def test_the_example_is_understood(name):
    """By the command's own options: an example cannot fall behind."""
    _, examples = parts_of(ALL[name].help)
    assert examples, f"{name}: its docstring has no line with Example:"
    for example in examples:
        words = shlex.split(example.rpartition("; ")[2])
        assert words[0] == "slicewise"
        whole = cli._application()
        context = whole.make_context("slicewise", words[1:])
        while getattr(context.command, "commands", None) is not None or context.parent is None:
            called, command, rest = context.command.resolve_command(context, [*context._protected_args, *context.args])
            context = command.make_context(called, rest, parent=context)
        assert context.params is not None


@pytest.mark.parametrize("width", WIDTHS)
def test_help_fits_and_breaks_no_word(monkeypatch, width):
    monkeypatch.setenv("COLUMNS", "100")
    names = [(), *((name,) for name in sorted(overview.files()))]
    before = {name: set(slicewise_command(*name, "--help").text.split()) for name in names}
    monkeypatch.setenv("COLUMNS", str(width))
    for name in names:
        lines = slicewise_command(*name, "--help").text.splitlines()
        too_long = [line for line in lines if len(line) > width and len(line.split()) > 1]
        assert not too_long, f"{name}: {too_long}"
        assert set(" ".join(lines).split()) == before[name]


def test_help_is_soon_there():
    """Nothing large is imported for it, and the processor is not long at it."""
    assert slicewise_command("overlap", "--help").status == 0

    def seconds(*arguments):
        spent = []
        for _ in range(3):
            child = subprocess.Popen([sys.executable, "-I", *arguments], stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            assert child.returncode == 0
            spent.append(usage.ru_utime + usage.ru_stime)
        return min(spent)

    bare = seconds("-c", "pass")
    assert seconds("-m", "slicewise", "--help") - bare < MOST_SECONDS
    assert seconds("-m", "slicewise", "catalog", "worst", "--help") - bare < MOST_SECONDS


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_what_one_asks_first_is_answered_alike_without_the_command_line(arguments, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    program = (
        "import sys; from slicewise.__main__ import main; main()\n"
        "assert not {'typer', 'slicewise.cli'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", program, *arguments], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (slicewise_command(*arguments).text, "")


def test_help_imports_nothing_large():
    program = (
        "import sys; from slicewise import cli, overview\n"
        "for name in overview.files():\n"
        "    cli._load(name)\n"
        "print(*sorted({'polars', 'numpy', 'plotly', 'rich', 'slicewise.analysis'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_alone_it_says_what_one_can_do_in_ten_lines():
    done = slicewise_command()
    assert (done.status, done.errors) == (0, "")
    assert len(done.text.splitlines()) <= 10
    told = [line.split()[1] for line in done.text.splitlines() if line.startswith("  slicewise")]
    assert told
    assert set(told) <= set(overview.files())


COMPLAINTS = {
    "overlpa": "overlpa: no such command; did you mean: slicewise overlap",
    "xyz": "xyz: no such command; see: slicewise --help",
    "catalog igest": "igest: no such command; did you mean: slicewise catalog ingest",
    "import xyz": "xyz: no such command; choose one of csv, darshan, dftracer, recorder",
    "--versoin": "--versoin: no such option; did you mean --version?",
    "overlap a b --alon c": "overlap: --alon: no such option; did you mean --alone?",
    "catalog prune c --keep 3d": "catalog prune: --keep: no such option; see: slicewise catalog prune --help",
    "export a --to b": "export: --to: no such option; see: slicewise export --help",
    "export a --form csv": "export: --form: no such option; did you mean --format?",
    "help sett": "sett: no such topic; did you mean: slicewise help settings",
    "help blaem": "blaem: no such command; did you mean: slicewise blame",
    "expo": "expo: no such command; did you mean: slicewise export",
    "co": "co: no such command; see: slicewise --help",
    "config slic": "config: slic: no such setting; did you mean slice?",
    "list /no/such/place": "/no/such/place: does not exist; "
    "give a directory with profiles in it or anywhere below, such as SLICEWISE_DIR",
    "info -z": "info: -z: no such option; see: slicewise info --help",
    "overlap a b --alone": "overlap: --alone: has no value; give --alone JOBDIR",
    "info --json=3 a": "info: --json: takes no value; give --json alone",
    "info": "info: PROFILE is missing; the form is: slicewise info PROFILE [options]",
    "info a b": "info: b: is one argument too many; the form is: slicewise info PROFILE [options]",
    "overlap a b --direction wriet": "overlap: --direction wriet: choose one of auto, read, write; did you mean write?",
    "export a --format xyz": "export: --format xyz: choose one of ftio, perfetto, folded, csv, parquet",
    "catalog worst c --most 0": "catalog worst: --most 0: give a whole number, at least 1",
    "top --every x": "top: --every x: give a number, at least 0.1",
    "run --slice 61 true": "run: --slice 61: give a number, 0.1 to 60",
    "run": "run: COMMAND is missing; the form is: slicewise run [options] COMMAND...",
}


def test_a_list_of_no_profile_has_a_complaint_and_no_table(tmp_path):
    (tmp_path / "bad.csv").write_text("a,b\n")
    done = slicewise_command("list", tmp_path / "bad.csv")
    assert (done.status, done.text, done.errors.count("\n")) == (1, "", 1)
    assert f"{tmp_path / 'bad.csv'}: " in done.errors
    empty = slicewise_command("list", tmp_path)
    assert (empty.status, empty.text) == (2, "")
    assert "give a directory with profiles in it or anywhere below" in empty.errors


@pytest.mark.parametrize("line", COMPLAINTS)
def test_complaints_say_what_is_right_in_one_line(line):
    done = slicewise_command(*line.split())
    assert (done.status, done.text) == (2, "")
    assert done.errors == f"slicewise: {COMPLAINTS[line]}\n"
