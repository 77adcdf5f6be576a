"""The engine and the collector make their words safe as the analyzer does: one list of letters in two languages."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest
from slicewise.text.safe_text import UNSAFE, visible
from support.programs import COLLECTOR

IS_UNSAFE = [UNSAFE.match(chr(code)) is not None for code in range(0x110000)]
EDGES = sorted({code + step for code in range(0x10FFFF) for step in (0, 1) if IS_UNSAFE[code] != IS_UNSAFE[code + 1]})
TEXT = "".join(map(chr, EDGES)).replace("\0", "").replace("/", "").encode(errors="surrogatepass")
BROKEN = bytes.fromhex(
    "c080 20 e08080 20 f0808080 20 f4908080 20 fffe 20 80 20 c3 20 e282 20 f888808080 20 eda080 20 c3"
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
