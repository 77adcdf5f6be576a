"""Which tests may skip in CI is a list, and a skip that is not in it fails the run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.second_look import without_group

TESTS = Path(__file__).resolve().parents[1]
LISTED = "the kernel forbids io_uring"


@pytest.mark.parametrize(
    ("folder", "options", "status"),
    [("endtoend", ["--listed-skips"], 0), ("fault", ["--listed-skips", "-n", "2"], 1), ("fault", [], 0)],
    ids=["listed", "of another test", "nobody asks"],
)
def test_a_skip_must_be_listed(tmp_path: Path, folder: str, options: list[str], status: int) -> None:
    test = tmp_path / folder / "test_fio.py"
    test.parent.mkdir()
    test.write_text(f"import pytest\n\ndef test_it():\n    pytest.skip({LISTED!r})\n\ndef test_more():\n    pass\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "support.skips", "-p", "no:cacheprovider", *options, test]
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    assert ("not in tests/may_skip.txt" in done.stdout) == (status != 0)


@pytest.mark.parametrize("name", ["a.py::test", "a.py::test[c@d]", "a.py::test[a b]"])
@pytest.mark.parametrize("group", ["", "@timing", "@scenarios of blame"])
def test_a_test_of_a_group_is_known_by_its_own_name(name: str, group: str) -> None:
    closed = f"{name}{group}]" if group and name.endswith("]") else f"{name}{group}"
    assert without_group(f"{name}{group}") == without_group(closed) == name


def test_failed_tests_are_listed_by_the_names_that_run_them_again(tmp_path: Path) -> None:
    """Also those of a group, whose names are other ones side by side, and a skip that is not listed; from a directory
    that is not pytest's own, as make's.
    """
    (tmp_path / "test_some.py").write_text(
        "import pytest\n\n@pytest.mark.xdist_group('one')\n@pytest.mark.parametrize('word', ['a b', 'c@d'])\n"
        "def test_it(word):\n    assert not word\n\ndef test_more():\n    pytest.skip('no reason')\n\n"
        "def test_right():\n    pass\n"
    )
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "support.skips", "-p", "support.second_look", "--listed-skips",
        "--rootdir", str(tmp_path),
    ]  # fmt: skip
    environment = os.environ | {"PYTHONPATH": str(TESTS)}

    def failed(*options: str) -> list[str]:
        into = tmp_path / "failed"
        into.unlink(missing_ok=True)
        run = [*command, "--failed-into", into, *options]
        subprocess.run(run, cwd=tmp_path.parent, env=environment, capture_output=True, text=True, check=False)
        return sorted(into.read_text().splitlines())

    names = [f"{tmp_path.name}/test_some.py::test_{test}" for test in ("it[a b]", "it[c@d]", "more")]
    assert failed("-n", "2", "--dist", "loadgroup", tmp_path.name) == names
    (tmp_path / "again").write_text("\n".join(names) + "\n")
    assert failed(f"@{tmp_path}/again") == names
