"""The analyzer's parts import what lies below them, and nothing else, as analyzer/pyproject.toml says."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from slicewise.contract import job_name, layers_of, seconds_allowed
from slicewise.digest import layers
from support.programs import Apps, Job

TREE = Path(__file__).resolve().parents[2]
ANALYZER = TREE / "analyzer"
UNMAPPED = {"build", "dist", "docs"}  # what is made, and the pages themselves
NO_ROOMS = {"vendor", "templates", "plans", "__pycache__"}  # files without code of ours
ROOT = Path(__file__).resolve().parents[2]
GIVEN = ["plain-1_2+3=4.5,6:7@8", ".hidden", "..", "a/b c", "ärger", "x" * 126 + "ä", "y" * 200]


def folders(place: Path) -> set[str]:
    return {it.name for it in place.iterdir() if it.is_dir() and not it.name.startswith(".")} - NO_ROOMS


def runs(*command: str) -> subprocess.CompletedProcess[str]:
    tool = Path(sys.executable).parent / command[0]
    return subprocess.run([tool, *command[1:]], cwd=ANALYZER, capture_output=True, text=True, check=False)


def test_the_rooms_would_be_missed(tmp_path):
    """A contract that nothing can break holds nothing: a file that imports upwards is told."""
    config = (ANALYZER / "pyproject.toml").read_text(encoding="utf-8")
    layers = '"slicewise.analysis",\n    "slicewise.catalog",'
    turned = config.replace(layers, '"slicewise.catalog",\n    "slicewise.analysis",')
    assert turned != config
    (tmp_path / "pyproject.toml").write_text(turned, encoding="utf-8")
    done = runs("lint-imports", "--no-cache", "--config", str(tmp_path / "pyproject.toml"))
    assert done.returncode == 1
    assert "slicewise.analysis is not allowed to import slicewise.catalog" in done.stdout


def test_every_folder_is_on_the_map():
    map_ = (TREE / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows, _, rooms = map_.partition("## Rooms of the analyzer")
    rooms = rooms.partition("### ")[0]
    assert {name for name in folders(TREE) - UNMAPPED if f"| `{name}/" not in rows} == set()
    package = ANALYZER / "slicewise"
    inner = folders(package) | folders(package / "analysis") | folders(package / "report")
    assert {name for name in inner if not re.search(rf"\b{name}\b", rooms)} == set()


@pytest.mark.parametrize("named", [r"^class (\w+)", r"^([A-Z]\w+) = (?:0\.\d+|\d+\.\d+|\d+e-\d+)\b"])
def test_no_two_classes_or_thresholds_have_one_name(named):
    found = Counter(
        name
        for path in (ANALYZER / "slicewise").rglob("*.py")
        for name in re.findall(named, path.read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert len(found) > 100
    assert [name for name, times in found.items() if times > 1] == []


def assigned(path: Path) -> set[str]:
    names = re.findall(r"^([A-Z][A-Z0-9_, ]*?)(?:: [^=]*)? = ", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {name.strip() for some in names for name in some.split(",")}


def test_what_decides_in_several_places_has_no_namesake():
    package = ANALYZER / "slicewise"
    known = assigned(package / "constants.py")
    assert {"SECOND_NS", "NEARLY_TURNS", "HARDLY_MEET"} <= known
    others = {path.relative_to(package).as_posix(): assigned(path) & known for path in package.rglob("*.py")}
    assert {place for place, names in others.items() if names} == {"constants.py"}


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
    job.must_run([apps.build("posix_transfers"), job.data / "file"], SLICEWISE_JOB=given, SLICEWISE_DIR=str(profiles))
    assert [path.name for path in profiles.iterdir()] == [job_name(given)]


def test_parts_and_ranges():
    assert layers_of("call") == ("posix", "stdio")
    assert layers_of("mpiio") == ("mpiio", "mpiio_coll")
    assert seconds_allowed("SLICEWISE_SLICE") == (0.1, 60.0)
