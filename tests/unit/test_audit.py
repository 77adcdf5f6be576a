"""What make/audit says of the answers of advisory services."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = {"name": "one", "skip_reason": "Dependency not found on PyPI and could not be audited"}
GOOD = {"name": "one", "version": "1.0", "vulns": []}
BAD = {"name": "two", "version": "2.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"]}]}


def audited(tmp_path: Path, answers: dict[str, list[dict]]) -> subprocess.CompletedProcess[str]:
    """make/audit with a pip-audit that gives these answers, by service; without one it fails, as without a network."""
    tool = tmp_path / "audit" / "bin" / "pip-audit"
    tool.parent.mkdir(parents=True)
    (tmp_path / "audit" / ".installed").write_bytes((ROOT / "packaging/audit/requirements.lock").read_bytes())
    texts = {service: json.dumps({"dependencies": told}) for service, told in answers.items()}
    tool.write_text(f"#!{sys.executable}\nimport sys\nprint({texts!r}[sys.argv[2]])\n")
    tool.chmod(0o755)
    command = [sys.executable, ROOT / "make/audit", ROOT / "analyzer/requirements.lock", tmp_path]
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
