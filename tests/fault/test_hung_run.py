"""`slicewise run` where a file system does not answer: the command runs, and nothing that was counted is lost."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from support.hanging import hanging_file_system
from support.programs import BUILD, need

SLICEWISE = BUILD / "bin" / "slicewise"
TIMEOUT_SECONDS = 120
WRITES = ["sh", "-c", "dd if=/dev/zero of=written bs=4096 count=1 2> /dev/null; exit 7"]


@pytest.mark.parametrize("way", ["--dir", "SLICEWISE_DIR", "HOME"])
def test_a_file_system_that_does_not_answer_keeps_no_command_from_running(tmp_path: Path, way: str) -> None:
    need("sshfs")
    here, segments = tmp_path / "here", tmp_path / "segments"
    here.mkdir()
    segments.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLICEWISE_", "XDG_"))}
    with hanging_file_system(tmp_path) as server:
        server.hang()
        point = str(server.point)
        options = ["--dir", point] if way == "--dir" else []
        environment = kept | {"SLICEWISE_EXIT_WAIT": "0.5", "SLICEWISE_SEGMENT_DIR": str(segments)}
        environment |= {} if options else {way: point}
        began = time.monotonic()
        done = subprocess.run(
            [SLICEWISE, "run", *options, "--job", "x", "--", *WRITES], cwd=here, env=environment,
            capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False,
        )  # fmt: skip
        assert time.monotonic() - began < TIMEOUT_SECONDS / 4
        assert (done.returncode, done.stdout) == (7, "")
        assert (here / "written").stat().st_size == 4096
        assert "did not answer" in done.stderr
        server.answer()
        if way == "HOME":
            assert "profile in slicewise/x" in done.stderr
            return
        assert f"slicewise recover {server.point}/x" in done.stderr
        recovered = subprocess.run(
            [SLICEWISE, "recover", f"{point}/x"], env=environment, capture_output=True, timeout=TIMEOUT_SECONDS,
            check=False,
        )  # fmt: skip
        assert recovered.returncode == 0, recovered.stderr
        assert list((server.export / "x").glob("*.swz"))


def test_a_file_that_does_not_answer_and_that_the_command_names_costs_a_moment(tmp_path: Path) -> None:
    need("sshfs")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLICEWISE_", "XDG_"))}
    with hanging_file_system(tmp_path) as server:
        deck = server.point / "deck"
        deck.write_text("x")
        server.hang()
        began = time.monotonic()
        command = [SLICEWISE, "run", "--job", "x", "--", *WRITES, deck]
        done = subprocess.run(command, cwd=tmp_path, env=kept, capture_output=True, text=True, check=False)
        assert time.monotonic() - began < TIMEOUT_SECONDS / 4
        assert done.returncode == 7
        assert "profile in slicewise/x" in done.stderr
        assert "did not answer" not in done.stderr
        server.answer()
