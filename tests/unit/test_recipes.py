"""Recipes of other packagers: they speak of this version, and of what the project really needs."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

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
    "CHANGELOG.md": r"\A# .+\n\n## (\S+)",
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


def test_spacks_recipe_is_a_class_that_builds_what_needs_no_python():
    tree = ast.parse(text("spack/package.py"))
    (recipe,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    assert recipe.name == "SlicewiseRuntime"
    assert "install-native" in text("spack/package.py")


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
