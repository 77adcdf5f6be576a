"""What tests of the preloaded library share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.programs import Apps, Job, job_in


@pytest.fixture(scope="session")
def apps(tmp_path_factory: pytest.TempPathFactory) -> Apps:
    """The programs of tests/apps."""
    return Apps(tmp_path_factory.mktemp("apps"))


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    """A job of the test's own, with its own place for segments."""
    with job_in(tmp_path) as job:
        yield job
