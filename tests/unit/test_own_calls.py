"""All system calls of the library are in the list that a program's seccomp filter is tried against."""

from __future__ import annotations

import re

from support.programs import ROOT

# Not made in a process that may have such a filter.
NOT_OURS = {
    "fdatasync": "the collector's alone (spool_is_kept)",
    "statmount": "not made where a filter is in force",
    "mlockall": "the program's own call, passed on",
    "mremap": "the program's own call, passed on",
} | dict.fromkeys(
    ("socket", "connect", "getsockopt", "setsockopt", "recvfrom", "getrandom"),
    "coordination's, which ends before a filter is put in force (before_filter)",
)
LIST = re.compile(r"own_calls\[\] = \{\n(.*?)\n\};", re.DOTALL)


def listed() -> set[str]:
    found = LIST.search((ROOT / "libprofiler" / "filter.c").read_text())
    assert found is not None
    return set(re.findall(r"\bSYS_(\w+)", found[1]))


def made() -> set[str]:
    names: set[str] = set()
    for path in (*(ROOT / "libprofiler").glob("*.[ch]"), *(ROOT / "store").glob("*.[ch]")):
        if path.name != "filter.c":
            names |= set(re.findall(r"\bSYS_(\w+)", path.read_text()))
    for path in (ROOT / "wrappers").glob("*.[ch]"):
        names |= set(re.findall(r"\bsyscall\(SYS_(\w+)", path.read_text()))
    return names


def test_what_the_library_calls_by_number_is_listed() -> None:
    assert {"statx", "clone", "writev"} <= made()
    assert made() - listed() == set(NOT_OURS)
