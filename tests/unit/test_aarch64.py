"""The library compiles for aarch64, and reads that processor's counter where calls are timed."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from support.programs import ROOT, need

TIMEOUT_SECONDS = 600


def test_objects_compile_and_read_the_counter(tmp_path: Path) -> None:
    """Apart from the build's own objects, which a test must not write to."""
    need("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump")
    make = ["make", "--no-print-directory", f"-j{os.cpu_count()}", "aarch64", f"BUILD={tmp_path}", "CFLAGS=-O1"]
    done = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    objects = {path.stem: path for path in tmp_path.glob("aarch64/*/*.o")}
    assert {"call", "clock", "posix", "main"} <= objects.keys()
    disassemble = ["aarch64-linux-gnu-objdump", "-d", objects["posix"], objects["call"]]
    code = subprocess.run(disassemble, capture_output=True, text=True, check=True).stdout
    assert re.search(r"mrs\s+\w+, cntvct_el0", code)
