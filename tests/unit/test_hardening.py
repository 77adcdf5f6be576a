"""What the binaries say of themselves: no code in data, no data in code, nothing looked for in foreign places."""

import re
import subprocess

import pytest
from support.programs import BUILD, need, need_built

LIBRARIES = [
    BUILD / "lib" / f"libslicewise{part}.so" for part in ("", "-reader", "-coordinate", "-threads", "-accelerators")
]
BINARIES = [*LIBRARIES, BUILD / "bin" / "slicewise-collect"]


def readelf(*arguments) -> str:
    return subprocess.run(["readelf", "-W", *arguments], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("binary", BINARIES, ids=lambda path: path.name)
def test_binaries_are_hardened(binary):
    need("readelf")
    need_built(binary)
    segments = re.findall(r"^ +(\w+) +0x\S+ 0x\S+ 0x\S+ 0x\S+ 0x\S+ ([RWE ]{3})", readelf("-l", binary), re.M)
    flags = {kind: flags for kind, flags in segments if kind != "LOAD"}
    assert "E" not in flags["GNU_STACK"]
    assert "GNU_RELRO" in flags
    assert [flags for kind, flags in segments if kind == "LOAD" and "W" in flags and "E" in flags] == []
    dynamic = readelf("-d", binary)
    assert not re.search(r"TEXTREL|RPATH|RUNPATH", dynamic)
    assert re.search(r"Type: +DYN", readelf("-h", binary))


def test_the_collector_binds_at_its_start_and_guards_its_stack():
    """It may run as root. The library is left alone: both would cost each start, and calls, of applications."""
    need("readelf")
    collector = BUILD / "bin" / "slicewise-collect"
    need_built(collector)
    assert re.search(r"\(FLAGS\) +.*BIND_NOW", readelf("-d", collector))
    objects = list((BUILD / "objects" / "collector").glob("*.o"))
    assert sum("__stack_chk_fail" in readelf("-s", path) for path in objects) > len(objects) / 2
