"""What packaging/metrics asks a Prometheus for is what `slicewise serve-metrics` tells."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from slicewise.commands.serve_metrics import DEFAULT_PORT
from slicewise.report.live.open_metrics import Metrics
from support.programs import ROOT
from unit.test_live import SCRATCH, look, process

FILES = ROOT / "packaging/metrics"
RULES, DASHBOARD = FILES / "slicewise-rules.yml", FILES / "grafana-dashboard.json"
SCRAPE = FILES / "slicewise-scrape.yml"


def expressions() -> list[str]:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [RULES.read_text(), *(target["expr"] for panel in panels for target in panel["targets"])]


def test_every_metric_and_label_is_one_that_is_served() -> None:
    metrics = Metrics()
    metrics.take(look(0, process("1", "a", [SCRATCH | {"write_bytes": 10}])))
    told = metrics.text()
    families = set(re.findall(r"^(slicewise_\w+?)\{", told, re.MULTILINE))
    labels = {f"exported_{name}" if name == "job" else name for name in re.findall(r'[{,](\w+)="', told)}
    for text in expressions():
        assert set(re.findall(r"\bslicewise_\w+", text)) - {"slicewise_moved_bytes", "slicewise_calls",
                                                            "slicewise_call_seconds"} <= families  # fmt: skip
        for asked in re.findall(r"by \(([^)]*)\)", text):
            assert set(asked.split(", ")) <= labels


def test_the_port_that_prometheus_reads_is_the_standard_one() -> None:
    scrape = SCRAPE.read_text()
    assert set(re.findall(r'"node\d:(\d+)"', scrape)) == {str(DEFAULT_PORT)}


@pytest.mark.parametrize("command", [("rules", RULES), ("config", "--syntax-only", SCRAPE)], ids=lambda words: words[0])
def test_promtool_finds_the_files_sound(command: tuple[str | Path, ...]) -> None:
    promtool = shutil.which("promtool") or shutil.which(ROOT / "build/promtool/promtool")
    if promtool is None:
        pytest.skip("no promtool: the files' syntax is not looked at (make promtool needs apt-get)")
    done = subprocess.run([promtool, "check", *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
