"""The bill of materials: what an installation has, in the versions of the lock file, and nothing of development."""

import json
import re
import subprocess
import sys

import pytest
from support.programs import ROOT

LOCK = ROOT / "analyzer" / "requirements.lock"
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([a-z]+/test_\w+\.(?:py|cpp))::([^`]+)`", PAGE)))


def bill(out):
    command = [sys.executable, ROOT / "make" / "sbom", LOCK, "1.2.3", "1.5.4", out]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return json.loads(out.read_text())


def test_it_has_what_is_installed_and_no_tools(tmp_path):
    made = bill(tmp_path / "bill.json")
    versions = {one["name"]: one.get("version") for one in made["components"]}
    assert {"polars", "numpy", "click", "zstd", "plotly.js"} <= set(versions)
    assert not {"pytest", "ruff", "mypy"} & set(versions)
    assert f"polars=={versions['polars']} " in LOCK.read_text()
    assert versions["zstd"] == "1.5.4"
    # With Python 3.10 alone; which one is pip's choice there.
    assert [name for name, version in versions.items() if version is None] == ["tomli"]


def test_all_that_is_named_is_there_and_it_is_made_alike_twice(tmp_path):
    made = bill(tmp_path / "bill.json")
    known = {one["bom-ref"] for one in [made["metadata"]["component"], *made["components"]]}
    assert {one["ref"] for one in made["dependencies"]} <= known
    assert {need for one in made["dependencies"] for need in one["dependsOn"]} <= known
    bill(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "bill.json").read_bytes()


def test_the_page_names_tests():
    assert len(NAMED) > 20
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| threat")]
    assert [row for row in rows if "::" not in row] == []


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_a_named_test_is_there(file, test):
    text = (ROOT / "tests" / file).read_text(encoding="utf-8")
    assert (f"def {test}(" if file.endswith(".py") else f'TEST_CASE("{test}"') in text
