"""What Python reads and others may have written, with bytes changed: an answer, or one line, never a traceback.

Hypothesis changes sound files: CSV, results of IO500, plans of sweeps and config.toml.
`make soak` tries more of each kind (tests/conftest.py).
"""

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from slicewise import settings as user_settings
from slicewise.errors import UserError
from slicewise.running.delta_campaign import read_plan, shipped_plans
from support.command_line import slicewise_command
from support.io500_results import EXAMPLE, new_summary, old_summary, rates_of, result_text

quickly = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
TOKENS = [
    b"", b"\0", b"\n", b",", b'"', b"'", b"[", b"{", b"]", b"}", b"=", b"-", b"-1", b"0", b"1e999", b"nan", b"inf",
    b"\xff\xfe", b"\xc3", b"null", b"true", b"[]", b"{}", b"18446744073709551616", b"-9223372036854775809", b"1.5",
    b"../../x", b"\x1b[2J", "\u202e".encode(), b"x" * 300,
]  # fmt: skip
Change = tuple[float, int, bytes]
changes = st.lists(
    st.tuples(
        st.floats(0, 1, exclude_max=True), st.integers(0, 40), st.one_of(st.sampled_from(TOKENS), st.binary(max_size=8))
    ),
    min_size=1,
    max_size=4,
)


def changed(content: bytes, made: list[Change]) -> bytes:
    """At each place so many bytes are taken out, and others come there."""
    for where, taken, new in made:
        at = int(where * len(content))
        content = content[:at] + new + content[at + taken :]
    return content


def assert_answers(*command: object) -> None:
    done = slicewise_command(*command)
    assert done.status in (0, 1, 2), (command, done.status)
    assert "Traceback" not in done.errors
    assert " is now: " not in done.errors, command  # a name of version 1 reads nothing
    if done.status == 2:
        assert done.errors.count("\n") == 1, (command, done.errors)


def csv() -> bytes:
    head = "begin,end,kind,bytes,node,process,mount,type,source,path,calls"
    lines = [
        f"{1_700_000_000 + i}.25,{1_700_000_001 + i},write,{1 << 20},n1,{i % 2},/s,lustre,m:/s,/s/{i},1"
        for i in range(6)
    ]
    return "\n".join([head, *lines, ""]).encode()  # fmt: skip


def test_imports(tmp_path: Path) -> None:
    content = csv()

    @quickly
    @given(changes)
    def check(made: list[Change]) -> None:
        file = tmp_path / "job.csv"
        file.write_bytes(changed(content, made))
        assert_answers("import", "csv", file, "--into", tmp_path / "jobs")
        shutil.rmtree(tmp_path / "jobs", ignore_errors=True)

    check()


@pytest.mark.parametrize("layout", [new_summary, old_summary, result_text])
def test_results_of_io500(tmp_path: Path, layout: Callable[..., str]) -> None:
    (tmp_path / "run1").mkdir()
    file = tmp_path / "run1" / ("result.txt" if layout is result_text else "result_summary.txt")
    content = layout(rates_of(*EXAMPLE["run1"])).encode()

    @quickly
    @given(changes)
    def check(made: list[Change]) -> None:
        file.write_bytes(changed(content, made))
        assert_answers("storage", "expect", tmp_path / "run1")

    check()


@pytest.mark.parametrize("plan", ["sizes", "servers"])
def test_plans_of_sweeps(tmp_path: Path, plan: str) -> None:
    content = shipped_plans()[plan].read_bytes()

    @quickly
    @given(changes)
    def check(made: list[Change]) -> None:
        file = tmp_path / "plan.toml"
        file.write_bytes(changed(content, made))
        with contextlib.suppress(UserError):
            read_plan(file)

    check()


def test_a_users_file_of_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "slicewise" / "config.toml"
    file.parent.mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    content = b'slice = 0.5\nquiet = true\ndir = "profiles"\nsite_ms = 10\nnames = "hash"\n'

    @quickly
    @given(changes)
    def check(made: list[Change]) -> None:
        file.write_bytes(changed(content, made))
        given_: dict[str, str] = {}
        user_settings.apply(given_)
        assert all(isinstance(value, str) and "\0" not in value for value in given_.values())
        assert all("\n" not in mistake for mistake in user_settings.mistakes())

    check()
