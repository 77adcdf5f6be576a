"""The commands in the pages do what the pages say: blocks of shell are run, or say why not, and then are understood.

support/pages.py has the comments that say so. No command stands outside a block of shell. Blocks of one page run in
order, in one directory that has what the pages speak of (support/page_machine.py).
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import slicewise
from slicewise import cli
from slicewise.profile.reader import read_profile
from support.packages import made_once
from support.page_machine import JOB, WRITTEN, Machine, can_sandbox, write_files
from support.pages import DOCS, PAGES, blocks, lines_run, name_of, run_here
from support.programs import ROOT

PYTHON = re.compile(r"^```python\n(?P<lines>import slicewise\n.*?)^```$", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A command line of ours where it is none of a block of shell. Tables of what is printed begin with other words.
COMMAND = re.compile(r"^(?:    )?(?:\$ )?((?:slicewise|slicewise-collect|make|python3?|pip) [a-z-].*)$", re.MULTILINE)
# What stands for something of the reader's own, or for several words: not to be understood by the command itself.
PLACEHOLDER = re.compile(r"\.\.\.|\[|\$\(|…")
TARGET = re.compile(r"^([a-z-]+):", re.MULTILINE)


RUN = [page for page in PAGES if run_here(page)]
# Pages have jobs of the same names, of which a node has one collector: side by side only where each has a sandbox.
if not can_sandbox():
    pytestmark = pytest.mark.xdist_group("pages")


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """What the pages speak of."""
    return made_once(tmp_path_factory, "files", write_files)


@pytest.fixture
def here(files, tmp_path):
    """The reader's directory: what the pages speak of, and the jobs below slicewise/, too, where `slicewise run` puts
    them."""
    directory = Path(shutil.copytree(files, tmp_path / "here"))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)  # clones and their builds are large


@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_blocks_of_shell_run(page, here):
    machine = Machine(here, page, run_here(page))
    if machine.needs_system and not can_sandbox():
        pytest.skip("bwrap can make no sandbox here")
    done = machine.run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    if check := CHECKS.get(name_of(page)):
        check(page, here, done.stdout)


def has_a_loss_of_its_form(page, here, output):
    assert "Page: slicewise/blame-mine.html" in output
    (shown,) = re.findall(r"```text\n(.*)\n", page.read_text(encoding="utf-8"))
    # A disk with room for both slows nobody down, and others may use it as well.
    slowed = [line for line in output.splitlines() if line.startswith("mine took") and " alone: " in line]
    assert {form(line) for line in slowed} <= {form(shown)}
    # The job that a batch system began last.
    assert written(here / "slicewise" / "48213") == 60 * WRITTEN


def has_profiles_of(*processes):
    """Of so many jobs, and of so many processes each, whose bytes are all there."""

    def check(page, here, output):
        known = {path.name for path in here.iterdir()}
        made = [path for path in (here / "slicewise").iterdir() if path.is_dir() and path.name not in known]
        assert sorted(written(path) for path in made) == [count * WRITTEN for count in sorted(processes)]

    return check


def has_installed(page, here, output):
    assert f"slicewise-runtime_{slicewise.__version__}" in next((here / "dist").glob("*.deb")).name
    for path in (here / ".local", here / ".root" / "usr"):
        told = subprocess.run(
            [path / "bin" / "slicewise-collect", "--version"], capture_output=True, text=True, check=True
        )
        assert told.stdout == f"slicewise-collect {slicewise.__version__}\n"
    for path in (here / ".local" / "bin" / "slicewise", here / ".venv" / "bin" / "slicewise"):
        told = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
        assert slicewise.__version__ in told.stdout


def has_profiled_a_batch_job(page, here, output):
    assert written(here / ".scratch-me" / "profiles" / JOB) == WRITTEN


def has_taken_turns(page, here, output):
    asked = [json.loads(line) for line in (here / "decisions.jsonl").read_text().splitlines()]
    assert "inform" in {event["event"] for event in asked}


CHECKS = {
    "docs/tutorial.md": has_a_loss_of_its_form, "docs/containers.md": has_profiles_of(1, 1, 1, 1),
    "docs/peers.md": has_profiles_of(4, 1), "docs/installing.md": has_installed,
    "docs/operating.md": has_profiled_a_batch_job, "docs/coordination.md": has_taken_turns,
}  # fmt: skip


def written(path):
    """Bytes that dd wrote, which is what the jobs' programs are."""
    profile = read_profile(path)
    own = profile.processes.filter(pl.col("program").str.ends_with("/dd")).select("process")
    return profile.slices.filter(pl.col("layer") == "posix").join(own, on="process")["write_bytes"].sum()


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
    lines = [line for block in blocks(page) for line in block.commands]
    parts = [part.strip() for line in lines for part in re.split(r" && |; ", line)]
    return [line for line in parts if line.startswith(begin)]


ELSEWHERE = [block for page in PAGES for block in blocks(page) if block.by]


@pytest.mark.parametrize("block", ELSEWHERE, ids=lambda block: f"{name_of(block.page)}: {block.commands[0]}")
def test_what_is_run_elsewhere_is_run_there(block):
    assert block.by.is_file()
    if block.by.suffix == ".md":
        assert {*block.commands} <= {line for there in run_here(block.by) for line in there.commands}
    else:
        assert block.page.name in block.by.read_text(encoding="utf-8")


# Of each hundred command lines so many are run at least. CONTRIBUTING.md says how the others are marked.
LEAST_PERCENT_RUN = 80


def test_most_command_lines_are_run():
    are_run, are_there = lines_run()
    print(f"command lines of the pages: {are_run} of {are_there} are run")
    assert 100 * are_run >= LEAST_PERCENT_RUN * are_there


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
    assert {kind for kind, _ in FENCED.findall(text)} <= {"", "sh", "c", "fortran", "python", "mermaid", *SHOWN}


def misunderstood(line: str) -> str:
    """Why a command line's options are not those of the command, or nothing."""
    if PLACEHOLDER.search(line):
        return ""
    words = shlex.split(re.split(r" (?:&&|\||>+|2>|&|;)", line, maxsplit=1)[0])
    names = words[1:]
    command = cli.slicewise
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
