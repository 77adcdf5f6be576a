"""With --failed-into FILE, the tests that failed are added to FILE, one a line, to be run once more by themselves."""

import os
import re
from pathlib import Path

import pytest
from support.skips import UNLISTED

# What pytest-xdist adds to the name of a test of a group; pytest puts a bracket behind it.
GROUP = re.compile(r"(?<=\])@[\w -]+\]?$|^([^\[]*)@[\w -]+$")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--failed-into", type=Path, help="add the names of the tests that failed to this file")


def pytest_sessionfinish(session: pytest.Session) -> None:
    into = session.config.getoption("--failed-into")
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if (
        into is None or reporter is None or hasattr(session.config, "workerinput")
    ):  # whom xdist's workers tell writes it
        return
    failed = [report.nodeid for outcome in ("failed", "error") for report in reporter.stats.get(outcome, [])]
    failed += [test for test, _ in session.config.stash.get(UNLISTED, [])]
    names = [_from_here(without_group(str(name)), session.config.rootpath) for name in failed]
    with into.open("a") as file:
        file.writelines(f"{name}\n" for name in dict.fromkeys(names))


def without_group(name: str) -> str:
    return GROUP.sub(lambda found: found[1] or "", name)


def _from_here(name: str, root: Path) -> str:
    path, separator, test = name.partition("::")
    return os.path.relpath(root / path) + separator + test
