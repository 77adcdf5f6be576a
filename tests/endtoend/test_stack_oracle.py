"""Our unwinder beside libunwind, and beside the truth where single steps know it: programs of several compilers, walked
at each of their instructions, twice for each pair of calls that led there; and programs as they are installed, walked
each millisecond.

What may differ, and why, is in `explained`, and in libprofiler/NOTES.md ("Call sites").
"""

import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.programs import APPS, BUILD, ROOT, need, need_built

OBJECTS = [
    BUILD / "objects" / name
    for name in ("libprofiler/unwind.o", "libprofiler/module.o", "store/peek.o", "store/clock.o", "store/vdso.o")
]
FRAME = re.compile(r" (\S+?)\+0x([0-9a-f]+)\((.*?)\)(\*?)| \?\+0x([0-9a-f]+)(\*?)")
TIMEOUT_SECONDS = 300
# Where no table describes the stack: libgcc and libc put other registers in place there, a few instructions each.
SWITCHING = ("libgcc_s.so", "libc.so")
SWITCHING_SHARE = 0.02
STEPPED = {
    "gcc-O0": ["gcc", "-O0", "stacks.c"],
    "gcc-O2-stripped": ["gcc", "-O2", "-fomit-frame-pointer", "-s", "stacks.c"],
    "gcc-O3-bound": ["gcc", "-O3", "-fcf-protection=full", "-Wl,-z,now", "stacks.c"],
    "clang-O2-framed": ["clang", "-O2", "-fno-omit-frame-pointer", "stacks.c"],
    "clang-O3": ["clang", "-O3", "stacks.c"],
    "g++-O2": ["g++", "-O2", "stacks.cpp"],
    "gfortran-O3": ["gfortran", "-O3", "stacks.f90"],
    "rustc-O": ["rustc", "-O", "stacks.rs"],
}
# Of back ends, languages and levels that are stepped above, in other pairs: `make soak` has them too.
if int(os.environ.get("PROPERTY_EXAMPLES", "0")) >= 100:
    STEPPED |= {
        "clang-O0": ["clang", "-O0", "stacks.c"],
        "clang++-O3-stripped": ["clang++", "-O3", "-s", "stacks.cpp"],
        "gfortran-O0": ["gfortran", "-O0", "stacks.f90"],
        "rustc": ["rustc", "stacks.rs"],
    }
INSTALLED = {
    "python": ["/usr/bin/python3", "-c", "import json\nfor i in range(400): json.dumps(list(range(1000)))"],
    "git": ["git", "-C", str(ROOT), "log", "--stat", "-n", "100"],
    "sqlite": [
        "sqlite3", ":memory:",
        "with recursive c(x) as (values(1) union all select x+1 from c where x<300000) select sum(x*x) from c",
    ],
    "perl": ["perl", "-e", "for $i (1..300000) { $h{$i % 1000} .= sprintf('%d', $i) } print sort values %h"],
}  # fmt: skip


@dataclass(frozen=True)
class Frame:
    """module: the file's name, empty for code in no file."""

    module: str
    has_entry: bool


@dataclass(frozen=True)
class Difference:
    """kind: see note() in stack_oracle.c. at: where; ours: our frames from two before where they part."""

    kind: str
    times: int
    at: Frame
    ours: list[Frame]
    text: str


@dataclass(frozen=True)
class Report:
    """steps: instructions; points: stacks walked; known: frames that single steps knew the truth of."""

    steps: int
    points: int
    known: int
    was_cut: bool
    differences: list[Difference]


def frames(line: str) -> list[Frame]:
    return [Frame(found[1] or "", not (found[4] or found[6])) for found in FRAME.finditer(line)]


def report_in(path: Path) -> Report:
    first, *lines = path.read_text().splitlines()
    words = first.split()
    numbers = {name: int(value) for name, value in zip(words[::2], words[1::2], strict=True)}
    assert numbers["unfit"] == 0
    differences = []
    for head, ours, theirs in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        kind, times = head.split()[:2]
        (at,) = frames(head.partition(" at")[2])
        differences.append(Difference(kind, int(times), at, frames(ours), f"{head}\n{ours}\n{theirs}"))
    return Report(numbers["steps"], numbers["points"], numbers["known"], bool(numbers["cut"]), differences)


def explained(difference: Difference) -> bool:
    """Whether it is known why the walks differ, or why both are wrong."""
    if difference.kind == "libunwind-wrong":  # e.g. the loader's resolver, called by a function with a realigned stack
        return True
    if difference.kind in ("wrong", "both-wrong") and not difference.ours[0].has_entry:
        return True  # interrupted in code without tables: lld's PLT, gfortran's code on the stack; libunwind guesses
    if difference.kind == "both-wrong":  # tables of a library, not of the program; of how many stacks is bounded
        return ".so" in difference.at.module
    if difference.kind == "shorter":  # the same instructions, or an address that is no code: libunwind goes on guessing
        return difference.at.module == "" or difference.at.module.startswith(SWITCHING)
    return False


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that walks, in a folder of its own."""
    if platform.machine() != "x86_64":
        pytest.skip("the oracle steps through programs of x86-64")
    need("gcc")
    need_built(*OBJECTS)
    folder = tmp_path_factory.mktemp("oracle")
    probe = subprocess.run(
        ["gcc", "-E", "-include", "libunwind.h", "-x", "c", os.devnull], capture_output=True, check=False
    )
    if probe.returncode != 0:
        pytest.skip("libunwind is missing: install libunwind-dev")
    library = folder / "libstackoracle.so"
    command = [
        "gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Werror", "-shared", "-fPIC",
        "-I", ROOT / "libprofiler", "-I", ROOT / "store", APPS / "stack_oracle.c", *OBJECTS, "-o", library,
        "-Wl,-z,defs", "-lunwind", "-lpthread",
    ]  # fmt: skip
    subprocess.run(command, check=True)
    return library


def walked(command: list[str | Path], folder: Path, **settings: str) -> list[Report]:
    out = folder / "report"
    done = subprocess.run(
        command, env=os.environ | {"STACK_ORACLE_OUT": str(out)} | settings, stdout=subprocess.DEVNULL,
        timeout=TIMEOUT_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    return [report_in(path) for path in sorted(folder.glob("report.*"))]


def unexplained(reports: list[Report]) -> str:
    return "\n".join(one.text for report in reports for one in report.differences if not explained(one))


@pytest.mark.parametrize("name", STEPPED)
def test_each_instruction(name: str, oracle: Path, tmp_path: Path) -> None:
    compiler, *options = STEPPED[name]
    need(compiler)
    program = tmp_path / "program"
    source = APPS / options.pop()
    links = ["-L", oracle.parent, "-lstackoracle"]
    places = [f"-Wl,-rpath,{oracle.parent}", "-lpthread"]
    if compiler == "rustc":
        command = [compiler, *options, source, *links, "-C", f"link-arg={places[0]}", "-o", program]
    else:
        command = [compiler, *options, "-w", source, *links, *places, "-o", program]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    if compiler == "rustc" and built.returncode != 0:
        pytest.skip("rustc cannot build a program here")
    assert built.returncode == 0, built.stderr
    (report,) = walked([program], tmp_path)
    assert unexplained([report]) == ""
    assert not report.was_cut
    assert report.steps > 10_000
    assert report.points > 3_000
    assert report.known > 2 * report.points
    wrong = sum(one.times for one in report.differences if one.kind in ("wrong", "both-wrong"))
    assert wrong < SWITCHING_SHARE * report.points


@pytest.mark.parametrize("name", INSTALLED)
def test_installed_programs(name: str, oracle: Path, tmp_path: Path) -> None:
    command = INSTALLED[name]
    if shutil.which(command[0]) is None:
        need(command[0])
    reports = walked([*command], tmp_path, LD_PRELOAD=str(oracle), STACK_ORACLE_EVERY_US="1000")
    assert sum(report.points for report in reports) > 10
    assert unexplained(reports) == ""
