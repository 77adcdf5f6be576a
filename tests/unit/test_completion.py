"""The tab key: what may come next on a command line, as each shell asks for it; and man pages, made of the help."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from slicewise import cli
from slicewise.commands.completion import VARIABLE
from support.command_line import slicewise_command

ROOT = Path(__file__).parents[2]
MACROS = {".TH", ".SH", ".TP", ".B", ".BR", ".PP", ".nf", ".fi"}


def offered(*words):
    """What may stand in place of the last word, with its meaning; nothing where that is a file."""
    asked = ShellComplete(cli.slicewise, {}, "slicewise", VARIABLE)
    found = asked.get_completions([*words[:-1]], words[-1])
    return {item.value: item.help for item in found if item.type == "plain"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["ove"], ["overlap"]),
        (["catalog", "w"], ["worst"]),
        (["overlap", "--di"], ["--direction"]),
        (["overlap", "--direction", ""], ["auto", "read", "write"]),
        (["overlap", "--direction", "w"], ["write"]),
        (["overlap", "some"], []),
        (["overlap", "--alone", ""], []),
        (["xyz", "a"], []),
    ],
)
def test_what_comes_next(words, expected):
    assert list(offered(*words)) == expected


def test_all_commands_with_what_they_do():
    found = offered("")
    assert list(found) == [name for name, one in cli.slicewise.commands.items() if not one.hidden]
    assert all(found.values())


def test_bash_asks_for_it(tmp_path):
    launcher = tmp_path / "slicewise"
    launcher.write_text(f'#!/bin/sh\nexec {sys.executable} -m slicewise "$@"\n')
    launcher.chmod(0o755)
    asking = 'COMP_WORDS=(slicewise catalog w); COMP_CWORD=2; _slicewise_completion slicewise; echo "$COMPREPLY"'
    script = f'eval "$(slicewise completion bash)"; {asking}'
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("worst\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_sound(shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_bytes(slicewise_command("completion", shell).output)
    done = subprocess.run([shell, "-n", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_command_has_a_man_page_that_troff_takes(tmp_path):
    subprocess.run([sys.executable, ROOT / "make/man_pages", tmp_path], check=True)
    pages = {page.name for page in tmp_path.glob("man?/*")}
    assert {"slicewise.1", "slicewise-settings.7", "slicewise-catalog-worst.1"} <= pages
    assert {f"{context.command_path.replace(' ', '-')}.1" for context in cli.contexts()} <= pages
    page = (tmp_path / "man1/slicewise-overlap.1").read_text()
    assert "\n.TP\n.B \\-\\-direction [auto|read|write]\n" in page
    for page in tmp_path.glob("man?/*"):
        for line in page.read_text().splitlines():
            assert not line.startswith("'")
            assert not line.startswith(".") or line.split()[0] in MACROS
