"""What packaging/metrics asks a Prometheus for is what `slicewise serve metrics` tells."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from slicewise.commands.serve_metrics import DEFAULT_PORT
from slicewise.report.live.open_metrics import Metrics
from support.programs import BUILD, ROOT, need_built
from unit.test_live import SCRATCH, look, process

FILES = ROOT / "packaging/metrics"
RULES, DASHBOARD = FILES / "slicewise-rules.yml", FILES / "grafana-dashboard.json"
SCRAPE = FILES / "slicewise-scrape.yml"


BOARD = json.loads(DASHBOARD.read_text())
EXPRESSIONS = {panel["title"]: [target["expr"] for target in panel["targets"]] for panel in BOARD["panels"]}
VARIABLES = {variable["name"]: variable for variable in BOARD["templating"]["list"] if variable["type"] == "query"}


def expressions() -> list[str]:
    return [RULES.read_text(), *(expression for those in EXPRESSIONS.values() for expression in those)]


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


def promtool(*arguments: str | Path) -> None:
    found = shutil.which("promtool") or shutil.which(ROOT / "build/promtool/promtool")
    if found is None:
        pytest.skip("no promtool: the files' syntax is not looked at (make promtool needs apt-get)")
    done = subprocess.run([found, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# What Prometheus reads, every 15 s: for an hour a call takes its usual time, then for 12 min reads and writes take
# 100 times as long. Metadata calls are slow all the time.
USUAL, SLOW, TIMES = 240, 48, 100


def series() -> list[dict[str, str]]:
    """Two looks at a job, gone on with at the same pace, as Prometheus stores them."""
    metrics = Metrics()
    looks = []
    for number in (1, 2):
        counts = {f"{kind}_{name}": number * 1000 for kind in ("read", "write") for name in ("bytes", "ops")}
        counts |= {"read_ns": number * 10**6, "write_ns": number * 10**6}
        counts |= {"meta_ops": number * 10, "meta_ns": number * 10**9, "sync_ops": number, "sync_ns": number * 10**6}
        metrics.take(look(15 * number, process("1", "48213", [SCRATCH | counts])))
        looks.append(dict(line.rsplit(" ", 1) for line in metrics.text().splitlines() if not line.startswith("#")))
    stored = []
    for name, value in looks[0].items():
        first, step = float(value), float(looks[1][name]) - float(value)
        times = TIMES if "call_seconds" in name and re.search('kind="(read|write)"', name) else 1
        labels = name.replace("{job=", '{job="slicewise",instance="node1:9469",exported_job=')
        later = first + step * (USUAL + 1)
        stored.append({"series": labels, "values": f"{first}+{step}x{USUAL} {later}+{step * times}x{SLOW}"})
    return stored


def answered(expression: str) -> dict[str, object]:
    """A question whose answer is 1 if this expression has any."""
    filled = re.sub(
        r"\$(\w+)", lambda found: VARIABLES[found[1]]["allValue"], expression.replace("$__rate_interval", "1m")
    )
    return {"expr": f"count({filled}) > bool 0", "exp_samples": [{"labels": "{}", "value": 1}]}


def offered(variable: dict) -> dict[str, object]:
    """The same for what the dashboard offers to choose from: label_values(SERIES, LABEL)."""
    of_series, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"]).groups()
    asked = answered(f'label_replace({of_series}, "found", "yes", "{label}", ".+")')
    labelled = str(asked["expr"]).replace("count(", "count by (found) (", 1)
    return {"expr": labelled, "exp_samples": [{"labels": '{found="yes"}', "value": 1}]}


def test_prometheus_answers_what_the_dashboard_and_the_rules_ask(tmp_path) -> None:
    names = re.findall(r"- (record|alert): (\S+)", RULES.read_text())
    asked = [answered(expression) for those in EXPRESSIONS.values() for expression in those]
    asked += [offered(variable) for variable in VARIABLES.values()]
    asked += [answered(name) for kind, name in names if kind == "record"]
    asked += [answered(f'ALERTS{{alertname="{name}", alertstate="firing"}}') for kind, name in names if kind == "alert"]
    end = {"eval_time": f"{(USUAL + SLOW) // 4}m"}
    test = {"interval": "15s", "input_series": series(), "promql_expr_test": [question | end for question in asked]}
    file = tmp_path / "answers.yml"
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "15s", "tests": [test]}))
    promtool("test", "rules", file)


def test_the_dashboard_keeps_the_rules_of_grafanas_linter() -> None:
    """The most important of them; `make dashboard-lint` runs the linter itself."""
    assert {"job", "instance"} <= set(VARIABLES)
    for variable in VARIABLES.values():
        assert (variable["multi"], variable["allValue"], variable["refresh"]) == (True, ".+", 2)
        assert variable["datasource"]["uid"] == "${datasource}"
    for panel in BOARD["panels"]:
        assert panel["title"]
        assert panel["description"]
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert {part["datasource"]["uid"] for part in (panel, *panel["targets"])} == {"${datasource}"}
    for expression in (one for those in EXPRESSIONS.values() for one in those):
        assert set(re.findall(r"\[(.*?)\]", expression)) <= {"$__rate_interval"}
        for matchers in re.findall(r"slicewise_\w+({[^}]*}|)", expression):
            assert 'job=~"$job"' in matchers
            assert 'instance=~"$instance"' in matchers


# Grafana's own types read the dashboard and write it again. A key that they do not know is lost.
READ_AND_WRITE = """
import json, sys
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard
register_default_plugins()
print(JSONEncoder(sort_keys=True).encode(Dashboard.from_json(json.load(sys.stdin))))
"""


def lost(written: object, read: object, place: str = "") -> list[str]:
    if isinstance(written, dict) and isinstance(read, dict):
        return [name for key in written for name in lost(written[key], read.get(key), f"{place}.{key}")]
    if isinstance(written, list) and isinstance(read, list) and len(written) == len(read):
        pairs = enumerate(zip(written, read, strict=True))
        return [name for number, (one, other) in pairs for name in lost(one, other, f"{place}[{number}]")]
    return [] if written == read else [place]


def test_the_dashboard_is_of_grafanas_schema() -> None:
    python = BUILD / "peers/bin/python"
    need_built(python, how="make build/peers/.installed")
    done = subprocess.run(
        [python, "-c", READ_AND_WRITE], input=DASHBOARD.read_text(), capture_output=True, text=True, check=True
    )
    assert lost(BOARD, json.loads(done.stdout)) == []


@pytest.mark.parametrize("command", [("rules", RULES), ("config", "--syntax-only", SCRAPE)], ids=lambda words: words[0])
def test_promtool_finds_the_files_sound(command: tuple[str | Path, ...]) -> None:
    promtool("check", *command)
