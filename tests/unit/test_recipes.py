"""Recipes of other packagers: they speak of this version, and of what the project really needs."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import slicewise

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
RECIPES = ("spack/package.py", "conda/meta.yaml", "container/Dockerfile", "container/slicewise.def")


def text(recipe: str) -> str:
    return (PACKAGING / recipe).read_text(encoding="utf-8")


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_version_is_the_one(recipe):
    named = re.findall(r"\b\d+\.\d+\.\d+\b", text(recipe))
    assert set(named) == {slicewise.__version__}


# Where else the version stands, and what it stands in there.
ELSEWHERE = {
    "schema/format.h": r'SLICEWISE_VERSION "(.+)"',
    "CITATION.cff": r"^version: (.+)$",
    "CHANGELOG.md": r"\A# .+\n\n(?:## Unreleased\n(?:(?!## ).*\n)+)?## (\S+)",
    "docs/installing.md": r"slicewise(?:-runtime)?[-_](\d+\.\d+\.\d+)\b",
    "docs/operating.md": r"MODULEPATH/slicewise/(\d+\.\d+\.\d+)",
}


@pytest.mark.parametrize(("path", "pattern"), ELSEWHERE.items(), ids=ELSEWHERE)
def test_the_version_is_the_same_everywhere(path, pattern):
    assert set(re.findall(pattern, (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)) == {slicewise.__version__}


def test_conda_runs_with_what_the_wheel_needs():
    project = tomllib.loads((ROOT / "analyzer/pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {re.sub(r"(>=)", r" \1", need.partition(";")[0]) for need in project["dependencies"]}
    needed.add(f"python {project['requires-python']}")
    (run,) = re.findall(r"^  run:\n((?:    - .+\n)+)", text("conda/meta.yaml"), re.MULTILINE)
    assert set(re.findall(r"- (.+)", run)) == needed


def test_an_image_is_made_of_sources_that_are_there():
    copied = re.findall(r"^COPY (\w.*) /source/", text("container/Dockerfile"), re.MULTILINE)
    sources = {name for line in copied for name in line.split()}
    assert all((ROOT / name).exists() for name in sources)
    # Each directory that the Makefile compiles from is among them.
    compiled = set(re.findall(r"\$\(wildcard ([a-z]+)/\*", (ROOT / "Makefile").read_text(encoding="utf-8")))
    assert compiled <= sources


class MakefilePackage:
    """Stands in for Spack's class. Its own default for the callbacks is `make test`."""

    build_time_test_callbacks = ("check",)


def loaded_by_spack(monkeypatch, is_older_than_1):
    """The recipe's class, and its dependencies with their types. Since Spack 1.0 MakefilePackage is in spack_repo."""
    dependencies = {}
    package = ModuleType("spack.package")
    for directive in ("license", "version", "run_after", "on_package_attributes"):
        setattr(package, directive, lambda *_, **__: lambda function: function)
    package.depends_on = lambda spec, type=("build", "link"): dependencies.update({spec.partition(" ")[0]: type})
    makefile = ModuleType("spack_repo.builtin.build_systems.makefile")
    (package if is_older_than_1 else makefile).MakefilePackage = MakefilePackage
    monkeypatch.setitem(sys.modules, "spack", ModuleType("spack"))
    monkeypatch.setitem(sys.modules, "spack.package", package)
    for name in ("spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems", makefile.__name__):
        monkeypatch.setitem(sys.modules, name, None if is_older_than_1 else makefile)
    scope = {}
    exec(compile(text("spack/package.py"), "package.py", "exec"), scope)
    return scope["SlicewiseRuntime"], dependencies


@pytest.mark.parametrize("is_older_than_1", [False, True], ids=["1.0", "0.23"])
def test_spack_builds_what_needs_no_python(is_older_than_1, monkeypatch):
    recipe, dependencies = loaded_by_spack(monkeypatch, is_older_than_1)
    assert issubclass(recipe, MakefilePackage)
    # Spack shows the compiler the headers of those dependencies alone that are linked.
    assert "link" in dependencies["zstd"]
    # Else `spack install --test=root` runs `make test`, and that installs packages of the system.
    assert list(recipe.build_time_test_callbacks) == []
    assert recipe.build_targets[0] == "native"
    assert "install-native" in text("spack/package.py")


@pytest.mark.parametrize("recipe", ["spack/package.py", "conda/build.sh"])
def test_a_recipe_takes_no_mpi_compiler_from_the_path(recipe):
    assert "MPICC=" in text(recipe)


def test_the_build_needs_no_program_named_cc(tmp_path):
    """In an environment of conda's the compiler is x86_64-conda-linux-gnu-cc."""
    programs = tmp_path / "bin"
    programs.mkdir()
    compiler = programs / "x86_64-conda-linux-gnu-cc"
    compiler.write_text("#!/bin/sh\ntest $1 = -dumpmachine && echo x86_64-conda-linux-gnu\n")
    compiler.chmod(0o755)
    made = tmp_path / "moved_bpf.inc"
    done = subprocess.run(
        ["/bin/sh", ROOT / "make/bpf", "moved.bpf.c", made], env={"PATH": str(programs), "CC": compiler.name},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr, made.read_text()) == (0, "", "0\n")


def test_a_check_of_the_debian_package_without_its_tools_fails_and_names_them(tmp_path):
    done = subprocess.run(
        ["/bin/sh", ROOT / "make/deb_check", "none.deb"], env={"PATH": str(tmp_path)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "not run, since not installed: lintian autopkgtest." in done.stderr
    assert done.stdout == ""


# How CONTRIBUTING.md signs a release, by each kind of key.
KEYS = {
    "GnuPG": "gpg --batch --quiet --passphrase '' --quick-generate-key release@example.org default default 1d",
    "ssh": "mkdir ~/.ssh && ssh-keygen -q -t ed25519 -N '' -C release@example.org -f ~/.ssh/id_ed25519",
}


@pytest.mark.parametrize("kind", KEYS)
def test_a_release_is_signed_as_the_page_says(kind, tmp_path):
    if shutil.which(KEYS[kind].partition(" ")[0]) is None or shutil.which("ssh-keygen") is None:
        pytest.skip(f"no {kind}")
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## How do I make a release?")[2]
    gpg, ssh, sign, _ = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    key = (gpg if kind == "GnuPG" else ssh).replace(" KEY ", " release@example.org ")
    home = tmp_path / "home"
    (home / ".gnupg").mkdir(parents=True, mode=0o700)
    script = f"""
        git init -q . && git config user.email release@example.org && git config user.name Release
        git commit -q --allow-empty -m release
        {KEYS[kind]}
        {key}
        {sign}
    """
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    done = subprocess.run(
        ["bash", "-ec", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    subprocess.run(["gpgconf", "--kill", "all"], env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'ood "git" signature' in done.stderr or "Good signature" in done.stderr
