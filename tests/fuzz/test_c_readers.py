"""The readers in C against bytes that nobody wrote: short runs of libFuzzer under ASan and UBSan (make/fuzz.mk).

SLICEWISE_FUZZ_SECONDS sets how long each target runs (default 1); `make fuzz FUZZ_SECONDS=600` is for nights.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.programs import BUILD

ROOT = Path(__file__).resolve().parents[2]
TARGETS = (
    "proc", "processes", "segment", "elf", "connections", "reader", "coordinator", "advised", "stack_texts", "settings",
)  # fmt: skip
SECONDS = os.environ.get("SLICEWISE_FUZZ_SECONDS", "1")
LEAST = b"int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long size) { return size > 0 && *data > 255; }"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the targets' programs are."""
    probe = tmp_path_factory.mktemp("fuzzer") / "probe"
    try:
        subprocess.run(
            ["clang", "-fsanitize=fuzzer,address", "-x", "c", "-", "-o", probe],
            input=LEAST,
            check=True,
            capture_output=True,
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("clang with libFuzzer is missing: install clang and its runtime (libclang-rt)")
    made = subprocess.run(["make", "-s", "fuzz-programs"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return BUILD / "fuzz"


# One test, so that workers side by side do not make the same programs at once.
def test_targets_find_nothing(folder):
    seeds = [sys.executable, "-m", "fuzz.reader_seeds", folder / "corpus-reader"]
    subprocess.run(seeds, cwd=ROOT, env=os.environ | {"PYTHONPATH": "tests"}, check=True)
    for target in TARGETS:
        done = subprocess.run(
            [ROOT / "tests/fuzz/run", folder, target, SECONDS], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout
