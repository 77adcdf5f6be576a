"""Commands whose standard streams are closed or full: one line, a status, and never a traceback."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from slicewise.text.safe_text import UNSAFE, visible
from support.programs import COLLECTOR
from support.swz import build_profile

COMMANDS = [
    "--help", "--version", "help run", "completion bash", "config", "report --detail JOB", "report --detail JOB --json",
    "export JOB --format csv",
]  # fmt: skip
FULL, CLOSED = ">/dev/full", ">&-"
IS_UNSAFE = [UNSAFE.match(chr(code)) is not None for code in range(0x110000)]
EDGES = sorted({code + step for code in range(0x10FFFF) for step in (0, 1) if IS_UNSAFE[code] != IS_UNSAFE[code + 1]})
TEXT = "".join(map(chr, EDGES)).replace("\0", "").replace("/", "").encode(errors="surrogatepass")
BROKEN = bytes.fromhex(
    "c080 20 e08080 20 f0808080 20 f4908080 20 fffe 20 80 20 c3 20 e282 20 f888808080 20 eda080 20 c3"
)


def run(words: str, redirected: str, folder: Path) -> subprocess.CompletedProcess[str]:
    build_profile(folder / "job", [{"process": 1}], [{"process": 1, "slice": 5, "write_bytes": 7, "write_ops": 1}])
    command = f"{sys.executable} -m slicewise {words.replace('JOB', str(folder / 'job'))} {redirected}"
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("redirected", [FULL, CLOSED])
@pytest.mark.parametrize("words", COMMANDS)
def test_a_result_that_cannot_be_written_is_one_line(tmp_path, words, redirected):
    done = run(words, redirected, tmp_path)
    assert done.returncode == 1, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("slicewise: standard output: cannot be written (")


@pytest.mark.parametrize("redirected", ["2>/dev/full", "2>&-", ">&- 2>&-", ">/dev/full 2>&-"])
def test_a_mistake_keeps_its_status_where_nobody_hears_of_it(tmp_path, redirected):
    assert run("info nothing", redirected, tmp_path).returncode == 2


def test_a_reader_that_has_seen_enough_is_not_told(tmp_path):
    done = run("report --detail JOB", "| true; sleep 0.1", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_on_standard_output_is_whole_without_standard_error(tmp_path):
    assert (
        run("report --detail JOB --json", "2>&-", tmp_path).stdout
        == run("report --detail JOB --json", "", tmp_path).stdout
    )


def said_of(name: bytes, empty: Path) -> bytes:
    """What the collector says of a directory that is not there, where no segments lie."""
    where = {"SLICEWISE_SEGMENT_DIR": str(empty), "TMPDIR": str(empty)}
    command = [os.fsencode(COLLECTOR), b"recover", b"/nonesuch/" + name]
    done = subprocess.run(command, capture_output=True, check=False, env=os.environ | where)
    assert done.returncode != 0
    return done.stderr


@pytest.mark.parametrize(
    "name",
    [
        TEXT,
        BROKEN,
        b"\x1b[31m\r\n",
        "Größe 界 🙂 \\".encode(),
        *(random.Random(seed).randbytes(200) for seed in range(20)),
    ],
    ids=range(24),
)
def test_the_collector_spells_out_what_the_analyzer_does(name, tmp_path):
    name = name.replace(b"\0", b"").replace(b"/", b"")
    said = said_of(name, tmp_path)
    assert visible(os.fsdecode(name)) in said.decode()
    assert said.count(b"\n") == 1


def test_the_library_does_too(job, apps):
    ended = job.run(["/bin/true"], SLICEWISE_SLICE="\x1b[31m\n\u202e")
    assert "SLICEWISE_SLICE=\\x1b[31m\\x0a\\u202e: " in ended.errors
    assert ended.errors.count("\n") == 1
