"""With --listed-skips, a skip that tests/may_skip.txt does not have is a failure: something is not tested any more."""

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

MAY_SKIP = Path(__file__).resolve().parents[1] / "may_skip.txt"
UNLISTED = pytest.StashKey[list[tuple[str, str]]]()


def may_skip(test: str, reason: str, listed: str) -> bool:
    """Whether a list allows a test to skip for that reason: a line has a pattern of tests and one of reasons."""
    lines = [line for line in listed.splitlines() if line and not line.startswith("#")]
    rows = [line.split(maxsplit=1) for line in lines]
    return any(fnmatch(test, f"*{tests}") and re.match(reasons, reason) for tests, reasons in rows)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--listed-skips", action="store_true", help=f"a skip that is not in {MAY_SKIP.name} is a failure")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if not config.getoption("--listed-skips") or reporter is None:  # workers of xdist have no reporter
        return
    listed = MAY_SKIP.read_text()
    skipped = [(report.nodeid, str(report.longrepr[2])) for report in reporter.stats.get("skipped", [])]
    reasons = [(test, reason.removeprefix("Skipped: ")) for test, reason in skipped]
    config.stash[UNLISTED] = [(test, reason) for test, reason in reasons if not may_skip(test, reason, listed)]
    if config.stash[UNLISTED] and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for test, reason in config.stash.get(UNLISTED, []):
        terminalreporter.write_line(f"skipped, and not in tests/{MAY_SKIP.name}: {test}: {reason}", red=True)
