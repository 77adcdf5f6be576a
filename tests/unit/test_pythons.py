"""The wheel in each Python that its classifiers name, but the one that runs all other tests (test_packages.py has the
wheel there): it profiles, and its answers are the same everywhere.

A Python that is not installed here is skipped. What the wheel needs comes from the tests' own environment if another
Python can load it (polars takes 170 MB), and from the package index otherwise.
"""

import base64
import gzip
import importlib.metadata
import json
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from support.command_line import slicewise_command
from support.packages import ROOT, made_once, run, wheel_of

GOLDEN = ROOT / "tests" / "golden"
PROJECT = tomllib.loads((ROOT / "analyzer" / "pyproject.toml").read_text())["project"]
NAMED = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
RUNNING = "{}.{}".format(*sys.version_info)
# Runs commands in one process, since starting takes longer than most of them. A warning about our own code is an error.
DRIVER = """
import contextlib, json, sys, warnings
warnings.filterwarnings("error", module=r"slicewise(\\.|$)")
from slicewise.cli import main
for number, arguments in enumerate(json.loads(sys.argv[1])):
    sys.argv = ["slicewise", *arguments]
    with open(f"answer-{number}", "w") as answer, contextlib.redirect_stdout(answer), contextlib.suppress(SystemExit):
        main()
"""


def interpreters(version: str) -> Iterator[str]:
    """Where a Python of that version may be, pyenv's newest first."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/{version}.*/bin/python")
    yield from sorted(
        map(str, pyenv), key=lambda path: [int(number) for number in re.findall(r"\d+", path)], reverse=True
    )
    yield from filter(None, (shutil.which(f"python{version}"), shutil.which("/usr/bin/python3")))


def python_of(version: str) -> tuple[str, str, str]:
    """A Python of that version with pip: its path, its whole version, and where its pip is."""
    asked = "import pip, sys, venv; print('{}.{}.{}'.format(*sys.version_info), pip.__path__[0])"
    for path in interpreters(version):
        told = run(path, "-I", "-c", asked)
        if told.returncode == 0 and told.stdout.startswith(f"{version}."):
            return path, *told.stdout.strip().split(maxsplit=1)
    pytest.skip(f"no Python {version} with pip")


def needed(name: str) -> dict[str, importlib.metadata.Distribution]:
    """A package's requirements in the tests' environment, and theirs."""
    found: dict[str, importlib.metadata.Distribution] = {}
    waiting = [name]
    while waiting:
        package = importlib.metadata.distribution(waiting.pop())
        for text in package.requires or []:
            requirement = Requirement(text)
            if requirement.name not in found and (
                requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            ):
                found[requirement.name] = importlib.metadata.distribution(requirement.name)
                waiting.append(requirement.name)
    return found


def is_loadable(package: importlib.metadata.Distribution) -> bool:
    """Whether a Python of another version can load a package: it is pure Python, or of the stable binary interface."""
    tags = re.findall(r"^Tag: \w+-(\w+)-", package.read_text("WHEEL") or "", re.MULTILINE)
    return {*tags} <= {"none", "abi3"}


def installed(wheel: Path, version: str, directory: Path) -> Path:
    """A virtual environment of that Python with the wheel and what it needs: where its programs are."""
    python, whole_version, pip = python_of(version)
    assert run(python, "-I", "-m", "venv", "--without-pip", directory).returncode == 0
    # pip takes for installed what lies here, and never removes it, since it is outside of the environment.
    lent, pins = directory.with_name("lent"), []
    lent.mkdir()
    (lent / "pip").symlink_to(pip)
    for package in needed("slicewise").values():
        if whole_version not in SpecifierSet(package.metadata["Requires-Python"] or ""):
            continue
        pins.append(f"{package.metadata['Name']}=={package.version}\n")
        if is_loadable(package):
            for name in {file.parts[0] for file in package.files or []} - {"..", "__pycache__"}:
                (lent / name).symlink_to(package.locate_file(name))
    (directory / "pins").write_text("".join(pins))
    (directory / "lib" / f"python{version}" / "site-packages" / "lent.pth").write_text(f"{lent}\n")
    install = ("-m", "pip", "--disable-pip-version-check", "install", "--no-compile", "--only-binary", ":all:")
    done = run(directory / "bin" / "python", "-I", "-B", *install, "--constraint", directory / "pins", wheel)
    if "Retrying" in done.stderr and done.returncode != 0:
        pytest.skip("no package index is reached")
    assert done.returncode == 0, done.stderr
    return directory / "bin"


def questions(factory: pytest.TempPathFactory) -> list[list[str]]:
    """Commands about recorded profiles, each of which prints JSON and writes a page."""

    def unpack(directory: Path) -> None:
        archive = GOLDEN / "campaigns" / "policies-large-small.tar.xz"
        assert run("tar", "--extract", "--file", archive, cwd=directory).returncode == 0

    jobs = sorted(made_once(factory, "recorded", unpack).glob("large-small-once-interfere-1-*"))
    return [
        ["report", str(GOLDEN / "format-1.swz"), "--json", "--html", "page-0.html"],
        ["blame", str(jobs[0]), "--json", "--html", "page-1.html"],
    ]


def answers_here(factory: pytest.TempPathFactory) -> Path:
    """What the analyzer as it lies here answers in the Python that runs the tests."""
    asked = questions(factory)

    def answer(directory: Path) -> None:
        before = Path.cwd()
        os.chdir(directory)
        try:
            for number, arguments in enumerate(asked):
                Path(f"answer-{number}").write_bytes(slicewise_command(*arguments).output)
        finally:
            os.chdir(before)

    return made_once(factory, "answers", answer)


def unpacked(file: Path) -> bytes:
    """A file with what pages carry gzipped unpacked: packed bytes depend on the version of zlib."""
    return re.sub(rb"H4sI[\w+/=]+", lambda packed: gzip.decompress(base64.b64decode(packed[0])), file.read_bytes())


@pytest.mark.parametrize("version", [version for version in NAMED if version != RUNNING])
def test_the_wheel_profiles_and_answers_the_same(
    version: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    bin = installed(wheel_of(tmp_path_factory), version, tmp_path / "environment")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SLICEWISE_"))}
    place = {"cwd": tmp_path, "env": kept | {"PYTHONPYCACHEPREFIX": str(tmp_path / "compiled")}}
    told = run(bin / "slicewise", "--help", **place)
    assert (told.returncode, told.stderr) == (0, "")
    assert "slicewise run" in told.stdout
    done = run(
        bin / "slicewise", "run", "--dir", "profiles", "--", "dd", "if=/dev/zero", "of=f", "bs=1M", "count=3", **place
    )
    assert done.returncode == 0, done.stderr
    (job,) = map(str, tmp_path.glob("profiles/*"))
    asked = [*questions(tmp_path_factory), ["report", "--detail", job, "--json"]]
    compiled = f"pycache_prefix={tmp_path / 'compiled'}"
    done = run(bin / "python", "-I", "-X", compiled, "-c", DRIVER, json.dumps(asked), **place)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((tmp_path / "answer-2").read_text())["totals"]["posix"]["write_bytes"] == 3 << 20
    here = answers_here(tmp_path_factory)
    for name in ("answer-0", "answer-1", "page-0.html", "page-1.html"):
        assert unpacked(tmp_path / name) == unpacked(here / name), name


def test_the_wheel_promises_the_pythons_that_it_is_tried_in() -> None:
    assert RUNNING in NAMED
    assert PROJECT["requires-python"] == f">={NAMED[0]}"
