"""The table by which bad pointers are tried has a row, or a reason, for all that is interposed."""

import re
from pathlib import Path

from support.arguments import rows

ROOT = Path(__file__).resolve().parents[2]


def test_every_symbol_has_a_row_or_a_reason():
    text = (ROOT / "schema" / "operations.def").read_text()
    symbols = {symbol for row in re.findall(r'^OPERATION\(.*"(.*)"\)$', text, re.MULTILINE) for symbol in row.split()}
    assert len(symbols) > 400
    listed = {symbol for named, _ in rows() for symbol in named if ":" not in symbol}
    assert listed == symbols - {"syscall"}


def test_every_call_by_number_has_a_row_or_a_reason():
    text = (ROOT / "wrappers" / "syscall.c").read_text()
    numbers = set(re.findall(r"case SYS_(\w+):", text))
    assert len(numbers) > 60
    listed = {symbol for named, _ in rows() for symbol in named if symbol.startswith("syscall:")}
    assert listed == {f"syscall:{name}" for name in numbers}


def test_a_row_calls_or_says_why_not():
    for _, arguments in rows():
        assert re.fullmatch(r"- .{10,}|(int|pointer|pid|nothing|error)( \S+)+", arguments), arguments
