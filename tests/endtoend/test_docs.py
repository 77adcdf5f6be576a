"""The commands in the pages do what the pages say: blocks of shell are run, or say why not, and then are understood.

A block that cannot run in CI has a comment before it, `<!-- not run: why -->`: its commands have the options, and its
make targets exist. No command stands outside a block of shell. Blocks of one page run in order, in one directory that
has the profiles which the pages speak of.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from slicewise import cli
from support.jobs import write_competing_jobs_and_runs_alone
from support.programs import ROOT

DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "docs/gallery/README.md", *DOCS]
SHELL = re.compile(r"^(?P<why><!-- not run: [^\n]+ -->\n)?```sh\n(?P<lines>.*?)^```$", re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^```python\n(?P<lines>import slicewise\n.*?)^```$", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A command line of ours where it is none of a block of shell. Tables of what is printed begin with other words.
COMMAND = re.compile(r"^(?:    )?(?:\$ )?((?:slicewise|slicewise-collect|make|python3?|pip) [a-z-].*)$", re.MULTILINE)
# What stands for something of the reader's own, or for several words: not to be understood by the command itself.
PLACEHOLDER = re.compile(r"\.\.\.|\[|\$\(|…")
TARGET = re.compile(r"^([a-z-]+):", re.MULTILINE)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[tuple[str, bool]]:
    """The page's blocks of shell, and whether each can be run."""
    return [(found["lines"], not found["why"]) for found in SHELL.finditer(page.read_text(encoding="utf-8"))]


RUN = [page for page in PAGES if any(can_run for _, can_run in blocks(page))]


@pytest.fixture(scope="module")
def profiles(tmp_path_factory):
    """The jobs that the pages speak of: two that competed, and a run alone of each."""
    directory = tmp_path_factory.mktemp("profiles")
    write_competing_jobs_and_runs_alone(directory)
    return directory


@pytest.fixture
def here(profiles, tmp_path):
    """A directory with the profiles in it, and the same below slicewise/, where `slicewise run` puts them."""
    directory = Path(shutil.copytree(profiles, tmp_path / "here"))
    shutil.copytree(profiles, directory / "slicewise")
    return directory


@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_blocks_of_shell_run(page, here):
    script = "\n".join(lines for lines, can_run in blocks(page) if can_run)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("SLICEWISE_", "LD_PRELOAD"))
    }
    environment["PATH"] = f"{ROOT / 'build/bin'}:{environment['PATH']}"
    environment["HOME"] = str(here)
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=here,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    if page.stem == "tutorial":
        assert "Page: slicewise/blame-mine.html" in done.stdout
        (shown,) = re.findall(r"```text\n(.*)\n", page.read_text(encoding="utf-8"))
        # A disk with room for both slows nobody down, and others may use it as well.
        slowed = [line for line in done.stdout.splitlines() if line.startswith("mine took") and " alone: " in line]
        assert {form(line) for line in slowed} <= {form(shown)}


def form(line: str) -> str:
    """A line of an answer without its figures, how many times in words of either kind, and without whom it names."""
    figures = re.sub(r"\d[\d.]*(?: (?:ms|s|min)\b)?", "0", line.partition("]")[0])
    return re.sub(r"(?:0|many) times as long as|0 % longer than", "0 times as long as", figures)


# The other pages' examples are tested where they are made: unit/test_python_api.py.
SHOWING_PYTHON = [
    page for page in DOCS if page.stem.startswith("how-") and PYTHON.search(page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("page", SHOWING_PYTHON, ids=lambda page: page.stem)
def test_python_that_the_how_tos_show(page, here):
    for found in PYTHON.finditer(page.read_text(encoding="utf-8")):
        done = subprocess.run(
            [sys.executable, "-c", found["lines"]], cwd=here, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def lines_of(page: Path, *begin: str) -> list[str]:
    """Command lines in a page's blocks of shell, those that go on made one, without what follows the command."""
    whole = "\n".join(lines for lines, _ in blocks(page)).replace("\\\n", " ")
    parts = [part.strip() for line in whole.splitlines() for part in re.split(r" && |; ", line.partition("  #")[0])]
    return [line for line in parts if line.startswith(begin)]


@pytest.mark.parametrize("page", [page for page in PAGES if lines_of(page, "slicewise ")], ids=name_of)
def test_every_command_line_is_understood(page):
    wrong = [f"{line}: {why}" for line in lines_of(page, "slicewise ") if (why := misunderstood(line))]
    assert not wrong, "\n".join(wrong)


def test_every_line_of_the_collector_is_understood():
    lines = [line for page in PAGES for line in lines_of(page, "slicewise-collect ")]
    assert lines
    for line in lines:
        words = shlex.split(line.partition(" &")[0])
        told = subprocess.run(
            [ROOT / "build/bin/slicewise-collect", words[1], "--help"], capture_output=True, text=True, check=False
        )
        options = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert {option for option in options if option not in told.stdout + told.stderr} == set(), line


def test_every_target_of_make_exists():
    known = {
        target
        for file in (ROOT / "Makefile", *(ROOT / "make").glob("*.mk"))
        for target in TARGET.findall(file.read_text(encoding="utf-8"))
    }
    named = {word for page in PAGES for line in lines_of(page, "make ") for word in line.split()[1:] if "=" not in word}
    assert named
    assert named <= known


# What a page shows without asking anybody to run it: a command's form, or a command with what it answered.
SHOWN = ("text", "bash", "toml", "json", "sql")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_command_stands_outside_a_block_of_shell(page):
    text = page.read_text(encoding="utf-8")
    outside = [found for found in COMMAND.findall(FENCED.sub("", text)) if f"    {found}" in text]
    unmarked = [found for kind, lines in FENCED.findall(text) if kind == "" for found in COMMAND.findall(lines)]
    assert not outside + unmarked
    assert {kind for kind, _ in FENCED.findall(text)} <= {"", "sh", "python", "mermaid", *SHOWN}


def misunderstood(line: str) -> str:
    """Why a command line's options are not those of the command, or nothing."""
    if PLACEHOLDER.search(line):
        return ""
    words = shlex.split(re.split(r" (?:&&|\||>+|2>|&|;)", line, maxsplit=1)[0])
    names = words[1:]
    command = cli._application()
    context = command.make_context("slicewise", [], resilient_parsing=True)
    while getattr(command, "list_commands", None) is not None and names:
        if names[0].startswith("-"):
            return ""
        found = command.get_command(context, names[0])
        if found is None:  # a job, where there is a command for that
            return "" if context.parent is not None else f"{names[0]} is no command"
        context = type(context)(found, parent=context, info_name=names[0])
        command, names = found, names[1:]
    known = {name for param in command.get_params(context) for name in (*param.opts, *param.secondary_opts)} | {
        "--help"
    }
    given = names[: names.index("--")] if "--" in names else names
    unknown = [word for word in given if word.startswith("--") and word.partition("=")[0] not in known]
    return f"no such options: {', '.join(unknown)}" if unknown and command.name != "run" else ""


def test_each_page_is_in_the_navigation_once():
    listed = re.findall(r"(?:: |- )([a-z-]+\.md)$", (ROOT / "packaging/site/mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(page.name for page in DOCS)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, place = target.partition("#")
        if "://" in path or path.startswith("mailto:"):
            continue
        file = page.parent / path if path else page
        assert file.exists(), target
        if place and file.suffix == ".md":
            assert place in anchors(file), target


def anchors(page: Path) -> set[str]:
    """The headings of a page as links name them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
