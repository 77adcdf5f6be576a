"""Every command that `slicewise` lists is one; its help is soon there, fits the terminal, and has a sound example."""

import importlib
import inspect
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from slicewise import cli
from support.arguments import rows
from support.command_line import slicewise_command

# Processor time that help may take beyond Python's own.
MOST_SECONDS = 0.15
WIDTHS = (60, 80, 200)

OPTIONS_PAGE = (Path(__file__).parents[2] / "docs" / "options.md").read_text(encoding="utf-8")
CONTEXTS = {context.command_path.partition(" ")[2]: context for context in cli.contexts()}
# Those that run something.
ALL = {name: context.command for name, context in CONTEXTS.items() if not isinstance(context.command, click.Group)}
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", CONTEXTS)
def test_help(name):
    done = slicewise_command(*name.split(), "--help")
    assert (done.status, done.errors) == (0, "")
    form = " ".join(done.text.partition("\n\n")[0].split()).removeprefix("Usage: ")
    assert form.startswith(f"slicewise {name} ")
    assert f"\n### slicewise {name}\n" in OPTIONS_PAGE, "docs/options.md lacks it"


@pytest.mark.parametrize("name", ALL)
def test_the_body_takes_what_is_declared(name):
    command = ALL[name]
    module, _, function = command.callback.args[0].partition(":")
    body = getattr(importlib.import_module(f"slicewise.commands.{module}"), function)
    declared = [param.name for param in command.params if param.expose_value]  # --servers is a setting
    assert sorted(declared) == sorted(inspect.signature(body).parameters)
    undescribed = [param.name for param in command.params if not param.help]
    assert not undescribed


@pytest.mark.parametrize("name", ALL)
def test_the_example_is_understood(name):
    """By the command's own options: an example cannot fall behind."""
    example = ALL[name].epilog.removeprefix("Example: ")
    words = shlex.split(example.rpartition("; ")[2])
    assert words[0] == "slicewise"
    context = cli.slicewise.make_context("slicewise", words[1:])
    while isinstance(context.command, click.Group):
        called, command, rest = context.command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(called, rest, parent=context)
    assert context.command_path == f"slicewise {name}" or name in example


@pytest.mark.parametrize("width", WIDTHS)
def test_help_fits_and_loses_no_word(monkeypatch, width):
    monkeypatch.setenv("COLUMNS", "100")
    names = [(), *(tuple(name.split()) for name in CONTEXTS)]
    before = {name: "".join(slicewise_command(*name, "--help").text.split()) for name in names}
    monkeypatch.setenv("COLUMNS", str(width))
    for name in names:
        lines = slicewise_command(*name, "--help").text.splitlines()
        too_long = [line for line in lines if len(line) > width and len(line.split()) > 1]
        assert not too_long, f"{name}: {too_long}"
        assert "".join("".join(lines).split()) == before[name]


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


def test_no_declaration_imports_anything_large():
    program = (
        "import sys; from slicewise import cli; [context.get_help() for context in cli.contexts()]\n"
        "large = {'polars', 'numpy', 'plotly', 'rich', 'jinja2', 'slicewise.analysis', 'slicewise.commands'}\n"
        "print(*sorted(large & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_alone_it_says_what_one_can_do_in_ten_lines():
    done = slicewise_command()
    assert (done.status, done.errors) == (0, "")
    assert len(done.text.splitlines()) <= 10
    told = [line.split()[1] for line in done.text.splitlines() if line.startswith("  slicewise")]
    assert told
    assert set(told) <= set(CONTEXTS)


def test_the_first_help_has_sixteen_questions_and_every_command_is_named_in_it():
    asked = [name for questions in cli.GROUPS.values() for name in questions]
    others = [name for commands in cli.OTHERS.values() for name in commands]
    assert len(asked) <= 16
    assert sorted([*asked, *others]) == sorted(cli.slicewise.commands)
    text = slicewise_command("--help").text
    assert all(f"  {name} " in text for name in asked)
    assert all(name in text for name in others)


@pytest.mark.parametrize("old", cli.RENAMED)
def test_a_former_name_answers_with_the_new_one(old):
    new = cli.RENAMED[old]
    done = slicewise_command(*old.split(), "X")
    assert (done.status, done.text) == (2, "")
    assert done.errors == f"slicewise: {old} is now: slicewise {new} X\n"
    name, _, option = new.partition(" --")
    known = {spelled for param in CONTEXTS[name].command.params for spelled in param.opts}
    assert not option or f"--{option}" in known


COMPLAINTS = {
    "overlpa": "no such command 'overlpa'; did you mean overlap?",
    "xyz": "no such command 'xyz'; see: slicewise --help",
    "catalog igest": "catalog: no such command 'igest'; did you mean ingest?",
    "report a --phases": "report: --phases goes with --detail; add --detail",
    "report a --detail --html b": "report: --detail makes no page; leave out --html",
    "predict a b --most-loss 5": "predict: --most-loss goes with --copies; add --copies",
    "predict a b --copies": "predict: --copies takes one job; give b by --with if it always runs beside it",
    "recover a -o b": "recover: -o goes with --merge; add --merge",
    "import xyz": "import: no such command 'xyz'; see: slicewise import --help",
    "--versoin": "no such option '--versoin'; did you mean --version?",
    "overlap a b --alon c": "overlap: no such option '--alon'; did you mean --alone?",
    "catalog prune c --until 3d": "catalog prune: no such option '--until'; see: slicewise catalog prune --help",
    "export a --form csv": "export: no such option '--form'; did you mean --format?",
    "help blaem": "no such command 'blaem'; did you mean blame?",
    "config slic": "config: slic: no such setting; did you mean slice?",
    "list /no/such/place": "/no/such/place: does not exist; "
    "give a directory with profiles in it or anywhere below, such as SLICEWISE_DIR",
    "overlap a b --alone": "option '--alone' requires an argument; see: slicewise --help",
    "doctor --json=3": "option '--json' does not take a value; see: slicewise --help",
    "report": "report: missing argument 'PROFILE'; see: slicewise report --help",
    "report a b": "report: got unexpected extra argument (b); see: slicewise report --help",
    "overlap a b --direction wriet": "overlap: invalid value for '--direction': "
    "'wriet' is not one of 'auto', 'read', 'write'; see: slicewise overlap --help",
    "export a": "export: missing option '--format'. Choose from: ftio, folded, csv, parquet; "
    "see: slicewise export --help",
    "catalog worst c --most 0": "catalog worst: invalid value for '--most': 0 is not in the range x>=1; "
    "see: slicewise catalog worst --help",
    "top --every x": "top: invalid value for '--every': 'x' is not a valid float range; see: slicewise top --help",
    "top --every nan": "top: invalid value for '--every': nan is not a number; see: slicewise top --help",
    "run --slice 61 true": "run: invalid value for '--slice': 61.0 is not in the range 0.1<=x<=60.0; "
    "see: slicewise run --help",
    "run": "run: name the command that is to be profiled, or --attach PID for a process that runs already",
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


def test_every_symbol_has_a_row_or_a_reason():
    text = (ROOT / "schema" / "operations.def").read_text()
    symbols = {symbol for row in re.findall(r'^OPERATION\(.*"(.*)"\)$', text, re.MULTILINE) for symbol in row.split()}
    assert len(symbols) > 400
    listed = {symbol for named, _ in rows() for symbol in named if ":" not in symbol}
    assert listed == symbols - {"syscall"}


def test_every_call_by_number_has_a_row_or_a_reason():
    text = (ROOT / "wrappers" / "syscall.c").read_text()
    numbers = set(re.findall(r"case SYS_(\w+):", text))
    assert len(numbers) > 60
    listed = {symbol for named, _ in rows() for symbol in named if symbol.startswith("syscall:")}
    assert listed == {f"syscall:{name}" for name in numbers}


def test_a_row_calls_or_says_why_not():
    for _, arguments in rows():
        assert re.fullmatch(r"- .{10,}|(int|pointer|pid|nothing|error)( \S+)+", arguments), arguments
