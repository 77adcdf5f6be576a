"""What the library and the analyzer must agree on, where each has to say it: settings, layers, the names of jobs."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest
from slicewise.digest import layers
from slicewise.running import command

ROOT = Path(__file__).resolve().parents[2]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_range_of_a_slice_is_that_of_the_setting():
    row = re.search(r'SETTING\(slice_ns, .*SECONDS, +"(\d+)", +(\d+), +(\d+),', text_of("schema/settings.def"))
    least, most = int(row[2]) / 1e9, int(row[3]) / 1e9
    assert (least, most) == (command.SHORTEST_SLICE_SECONDS, command.LONGEST_SLICE_SECONDS)


def test_every_layer_is_known_and_has_its_place():
    """A layer that the library adds must be put among those that add up, or among those that lie on others."""
    listed = re.findall(r"^LAYER\((\w+),", text_of("schema/enums.def"), re.MULTILINE)
    placed = [*layers.OWN_LAYERS, *layers.MPIIO_LAYERS, layers.KERNEL_LAYER]
    assert sorted(listed) == sorted(placed)


def test_a_jobs_name_is_as_long_as_the_library_keeps_it():
    (room,) = re.findall(r"^\s*char job\[(\d+)\];", text_of("libprofiler/state.h"), re.MULTILINE)
    assert int(room) - 1 == command.LONGEST_JOB_NAME
    (others,) = re.findall(r'is_plain = .*strchr\("([^"]+)", c\)', text_of("libprofiler/identity.c"))
    plain = string.ascii_letters + string.digits + others
    assert command.as_file_name(plain) == plain


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (".hidden", "_hidden"),
        ("a.b", "a.b"),
        ("a b/c", "a_b_c"),
        ("é", "__"),  # a byte each, as the library has it
        ("\udcff", "_"),
        ("x" * 200, "x" * 127),
        ("é" * 100, "_" * 127),
    ],
)
def test_names_of_jobs(given: str, name: str):
    assert command.as_file_name(given) == name
