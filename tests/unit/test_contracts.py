"""What schema/ says is what both the library and the analyzer do: settings, layers, the names of jobs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from slicewise.contract import job_name, layers_of, seconds_allowed
from slicewise.digest import layers
from support.programs import Apps, Job

ROOT = Path(__file__).resolve().parents[2]
GIVEN = ["plain-1_2+3=4.5,6:7@8", ".hidden", "..", "a/b c", "ärger", "x" * 126 + "ä", "y" * 200]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_layer_is_known_and_has_its_place():
    """A layer that the library adds must be put among those that add up, or among those that lie on others."""
    listed = re.findall(r"^LAYER\((\w+),", text_of("schema/enums.def"), re.MULTILINE)
    placed = [*layers.OWN_LAYERS, *layers.MPIIO_LAYERS, layers.KERNEL_LAYER]
    assert sorted(listed) == sorted(placed)


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
    assert job_name(given) == name


@pytest.mark.parametrize("given", GIVEN, ids=range(len(GIVEN)))
def test_the_library_makes_the_same_name_of_a_job(job: Job, apps: Apps, given: str):
    profiles = job.folder / "profiles"
    ended = job.run(
        [apps.build("posix_transfers"), job.data / "file"], SLICEWISE_JOB=given, SLICEWISE_DIR=str(profiles)
    )
    assert (ended.status, ended.errors) == (0, "")
    assert [path.name for path in profiles.iterdir()] == [job_name(given)]


def test_parts_and_ranges():
    assert layers_of("call") == ("posix", "stdio")
    assert layers_of("mpiio") == ("mpiio", "mpiio_coll")
    assert seconds_allowed("SLICEWISE_SLICE") == (0.1, 60.0)
