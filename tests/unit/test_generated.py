"""What is made from schema/ is as schema/ is: the pages, and the symbols that the library exports."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def output_of(*command: object) -> str:
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def test_the_check_of_exports_finds_a_symbol_too_few_and_one_too_many(tmp_path):
    listing = tmp_path / "generate"
    listing.write_text("#!/bin/sh\nprintf '{\\nglobal:\\n    here;\\n    nowhere;\\nlocal:\\n    *;\\n};\\n'\n")
    listing.chmod(0o755)
    (tmp_path / "library.c").write_text("int here, stray;\n")
    library = tmp_path / "library.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, tmp_path / "library.c"], check=True)
    checked = subprocess.run([ROOT / "make" / "exports", listing, library], capture_output=True, text=True, check=False)
    assert checked.returncode == 1
    assert checked.stderr.splitlines() == [
        f"listed in schema/ but not in {library}: nowhere",
        f"in {library} but not listed in schema/: stray",
    ]


def test_each_symbol_is_on_the_page_of_coverage():
    page = output_of(ROOT / "build" / "generate", "coverage")
    assert "`creat` (`creat64`)" in page
    exports = output_of(ROOT / "build" / "generate", "exports")
    of_files = {
        line.strip().rstrip(";") for line in exports.splitlines() if line.startswith(("    p", "    f", "    o"))
    }
    assert {symbol for symbol in of_files if f"`{symbol}`" not in page} == set()
