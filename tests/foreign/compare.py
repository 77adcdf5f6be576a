#!/usr/bin/env python3
"""Run somebody else's test suite bare and under the library, and name the tests whose outcome differs.

Two ways to say what a test is:

    compare.py --each tests.txt -- ./run-tests            one command a line of tests.txt, its words appended
    compare.py --outcome '^(?P<test>\\S+) \\.\\.\\. (?P<outcome>\\w+)' -- make check
                                                          one command; its output names tests and outcomes

Every test runs twice bare, under the library, under the library with call sites on, and with --launcher through
`slicewise run` as well, with and without its collector. With --each an outcome is the exit status (or signal, or
"timeout"). A test whose outcomes differ is run again in every way, --again times; it counts as different only if no
outcome of one way was ever seen bare. Tests that differ from run to run are named as unstable.
Exit status: 0 when nothing differs, 1 when something does, 2 when the call was wrong.
"""

import argparse
import hashlib
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("BUILD", "build")
LIBRARY = BUILD / "lib" / "libslicewise.so"
LAUNCHER = [str(BUILD / "bin" / "slicewise"), "run"]
BARE = "bare"
GONE = "missing"

Outcomes = dict[str, str]


@dataclass(frozen=True)
class Way:
    """How a test is run: what is added to the caller's environment, and what stands before the command."""

    added: Mapping[str, str]
    launcher: tuple[str, ...] = ()


def ways(profiles: Path, extra_preload: str, with_launcher: bool) -> dict[str, Way]:
    profiled = {"LD_PRELOAD": " ".join(filter(None, [str(LIBRARY), extra_preload])), "SLICEWISE_DIR": str(profiles)}
    bare = {"LD_PRELOAD": extra_preload} if extra_preload else {}
    chosen = {
        BARE: Way(bare),
        "profiled": Way(profiled | {"SLICEWISE_SITE_MS": "0"}),
        "with sites": Way(profiled | {"SLICEWISE_SITE_MS": "1"}),
    }
    if with_launcher:
        launched = bare | {"SLICEWISE_DIR": str(profiles)}
        chosen["run"] = Way(launched, (*LAUNCHER, "--"))
        chosen["run without collector"] = Way(launched, (*LAUNCHER, "--no-collector", "--"))
    return chosen


def program_output(way: Way, output: str) -> str:
    """What the test said: without the lines that the launcher adds behind it."""
    lines = output.splitlines(keepends=True)
    while way.launcher and lines and lines[-1].startswith("slicewise: "):
        lines.pop()
    return "".join(lines)


def run(command: list[str], way: Way, seconds: float) -> tuple[str, str]:
    """Outcome and output of one command in a process group of its own, which is ended when its time is up."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SLICEWISE_")}
    environment |= way.added
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [*way.launcher, *command], env=environment, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            status = process.wait(seconds)
            outcome = str(status) if status >= 0 else signal.Signals(-status).name
        except subprocess.TimeoutExpired:
            outcome = "timeout"
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        return outcome, program_output(way, output.read().decode(errors="replace"))


def each(command: list[str], tests: list[str], way: Way, seconds: float, jobs: int, kept: Path | None) -> Outcomes:
    def outcome(test: str) -> str:
        status, output = run([*command, *shlex.split(test)], way, seconds)
        if kept is None:
            return status
        told = hashlib.sha256(output.encode()).hexdigest()[:8]
        (kept / f"{test.replace('/', '_')}.{told}").write_text(output)
        return f"{status} {told}"

    with ThreadPoolExecutor(jobs) as pool:
        return dict(zip(tests, pool.map(outcome, tests), strict=True))


def told(command: list[str], pattern: re.Pattern[str], way: Way, seconds: float) -> Outcomes:
    status, output = run(command, way, seconds)
    outcomes = {found["test"]: found["outcome"] for line in output.splitlines() if (found := pattern.search(line))}
    return outcomes | {"(the whole command)": status}


def differing(seen: dict[str, list[Outcomes]], test: str) -> list[str]:
    """The ways in which the test always came out as it never does bare."""
    bare = {outcomes.get(test, GONE) for outcomes in seen[BARE]}
    return [way for way in seen if not bare & {outcomes.get(test, GONE) for outcomes in seen[way]}]


def outcomes_by_way(seen: dict[str, list[Outcomes]], test: str) -> str:
    """How often each outcome of a test was seen in each way."""
    told = []
    for way, runs in seen.items():
        counted = Counter(outcomes.get(test, GONE) for outcomes in runs if test in outcomes or len(runs) == 1)
        told.append(f"{way}: " + " ".join(f"{outcome} x{times}" for outcome, times in counted.items()))
    return ", ".join(told)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=Path, help="file with one test a line: words appended to the command")
    parser.add_argument("--outcome", type=re.compile, help="regular expression with the groups `test` and `outcome`")
    parser.add_argument(
        "--output", type=Path, help="with --each: what is printed counts too, and is kept in this folder"
    )
    parser.add_argument("--again", type=int, default=3, help="how often a test that differs is run again (3)")
    parser.add_argument("--seconds", type=float, default=60, help="time limit of a command (60)")
    parser.add_argument("--jobs", type=int, default=1, help="with --each: tests at a time (1)")
    parser.add_argument("--preload", default="", help="a library that is preloaded in every way, after ours")
    parser.add_argument("--launcher", action="store_true", help="run each test through `slicewise run`, too")
    parser.add_argument("command", nargs="+")
    chosen = parser.parse_args()
    if (chosen.each is None) == (chosen.outcome is None):
        parser.error("say what a test is: either --each or --outcome")
    if not LIBRARY.exists():
        parser.error(f"{LIBRARY} is not built: run make")

    if chosen.output is not None:
        chosen.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="foreign-") as profiles:
        chosen_ways = ways(Path(profiles), chosen.preload, chosen.launcher)
        once: Callable[[str, list[str]], Outcomes]
        if chosen.each is not None:
            tests = [line for line in chosen.each.read_text().splitlines() if line.strip() and not line.startswith("#")]

            def once(way: str, names: list[str]) -> Outcomes:
                return each(chosen.command, names, chosen_ways[way], chosen.seconds, chosen.jobs, chosen.output)
        else:
            tests = []

            def once(way: str, names: list[str]) -> Outcomes:
                return told(chosen.command, chosen.outcome, chosen_ways[way], chosen.seconds)

        seen = {way: [once(way, tests)] for way in chosen_ways}
        seen[BARE].append(once(BARE, tests))
        first = [outcomes for runs in seen.values() for outcomes in runs]
        tests = tests or sorted({test for outcomes in first for test in outcomes})
        doubtful = [test for test in tests if len({outcomes.get(test, GONE) for outcomes in first}) > 1]
        for _ in range(chosen.again if doubtful else 0):
            for way in chosen_ways:
                seen[way].append(once(way, doubtful))
        differs = {test: found for test in doubtful if (found := differing(seen, test))}

    for test in doubtful:
        print("DIFFERS " if test in differs else "unstable", f" {test} ", outcomes_by_way(seen, test))
    counts = f"{len(differs)} differ, {len(doubtful) - len(differs)} are unstable"
    if chosen.each is not None:
        failing = sum(seen[BARE][0].get(test, GONE).split()[0] != "0" for test in tests)
        counts += f", {failing} do not end with status 0 bare either"
    print(f"{len(tests)} tests in {len(chosen_ways)} ways: {counts}")
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
