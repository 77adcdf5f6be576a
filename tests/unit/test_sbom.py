"""The bill of materials: what an installation has, in the versions of the lock file, and nothing of development."""

import json
import subprocess
import sys

from support.programs import ROOT

LOCK = ROOT / "analyzer" / "requirements.lock"


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
