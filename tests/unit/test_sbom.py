"""The bill of materials: what an installation has, in the versions of the lock file, and nothing of development."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.programs import ROOT

LOCK = ROOT / "analyzer" / "requirements.lock"
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([a-z]+/test_\w+\.(?:py|cpp))::([^`]+)`", PAGE)))
TREE = Path(__file__).resolve().parents[2]
SKIPPED = {"name": "one", "skip_reason": "Dependency not found on PyPI and could not be audited"}
GOOD = {"name": "one", "version": "1.0", "vulns": []}
BAD = {"name": "two", "version": "2.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"]}]}


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
    named = rf"def {test}\(" if file.endswith(".py") else rf'TEST_CASE(_METHOD\(\w+, |\()"{re.escape(test)}"'
    assert re.search(named, text)


def audited(tmp_path: Path, answers: dict[str, list[dict]]) -> subprocess.CompletedProcess[str]:
    """make/audit with a pip-audit that gives these answers, by service; without one it fails, as without a network."""
    tool = tmp_path / "audit" / "bin" / "pip-audit"
    tool.parent.mkdir(parents=True)
    (tmp_path / "audit" / ".installed").write_bytes((TREE / "packaging/audit/requirements.lock").read_bytes())
    texts = {service: json.dumps({"dependencies": told}) for service, told in answers.items()}
    tool.write_text(f"#!{sys.executable}\nimport sys\nprint({texts!r}[sys.argv[2]])\n")
    tool.chmod(0o755)
    command = [sys.executable, TREE / "make/audit", TREE / "analyzer/requirements.lock", tmp_path]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("answers", "status", "said"),
    [
        ({"pypi": [GOOD]}, 0, "audit: 1 packages, 0 known vulnerabilities"),
        ({"pypi": [GOOD, BAD]}, 1, "audit: two 2.0: PYSEC-1; mended in 2.1"),
        # A service that knows none of them is asked nothing: the next one is.
        ({"pypi": [SKIPPED], "osv": [BAD]}, 1, "audit: two 2.0: PYSEC-1; mended in 2.1"),
        ({"pypi": [SKIPPED]}, 0, "audit: skipped: no advisory service answers (pypi, osv)"),
        ({"osv": [GOOD, SKIPPED]}, 0, "audit: osv does not know one"),
        ({}, 0, "audit: skipped: no advisory service answers (pypi, osv)"),
    ],
)
def test_a_finding_fails_and_no_answer_is_said(tmp_path, answers, status, said):
    done = audited(tmp_path, answers)
    assert (done.returncode, done.stdout.splitlines()[0]) == (status, said), done.stderr
