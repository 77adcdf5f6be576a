"""Names that would steer whoever reads them, through every command and every form of output."""

import csv
import io
import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from rich.console import Console
from slicewise.live import Activity, Counts, JobNow, Look, MountNow, ProcessLook, ProcessNow, ServedNow
from slicewise.report.live.live_screen import Screen
from slicewise.report.live.open_metrics import Metrics
from slicewise.text.safe_text import UNSAFE, csv_cell, folded_frame, json_text, metrics_label, visible
from support.command_line import Done, slicewise_command
from support.hostile import sound_tables, write_job

ATOMS = (
    "\x1b[31m", "\x1b]0;title\x07", "\x1b[2J", "\x9b31m", "\r", "\n", "\t", "\0", "\b\b", "\x7f", "\u202e", "\u2066",
    "\u200b", "\u200d", "\ufeff", "\xad", "\u2028", "\x85", "\ud800", "\udcff", "\U000e0041",
    "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<!--", "]]>", '"', "'", "`", "[red]",
    "[/]", "[link=http://x]", ":smile:", "\\", "\\n", "{{ 7 * 7 }}", "{% raw %}", "%{x}", "%s%n", "{}", "{0}", "=1+1",
    "@SUM(A1)", "+1", "-1", ";", ",", "/", "..", "a b", "x" * 5000, "é", "界", "🙂", "$(id)", "&amp;", "|", "#",
)  # fmt: skip
NAMES = st.lists(st.sampled_from(ATOMS), max_size=4).map("".join) | st.text(max_size=20)
OWN_STYLES = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = "".join(atom for atom in ATOMS if len(atom) < 100)
# The names of a job, and of what hangs on it: (table, column).
PLACES = (
    ("processes", "job"), ("processes", "step"), ("processes", "host"), ("processes", "program"),
    ("processes", "account"), ("processes", "nodes"), ("mounts", "point"), ("mounts", "type"), ("mounts", "source"),
    ("files", "path"), ("unprofiled", "program"), ("launches", "program"), ("launches", "command"), ("nodes", "host"),
    ("node_devices", "name"), ("node_devices", "source"), ("events", "name"), ("events", "unit"),
    ("events", "meaning"), ("modules", "path"), ("modules", "build_id"), ("frames", "function"), ("frames", "file"),
)  # fmt: skip


def hostile_job(directory: Path, name_of: dict[tuple[str, str], str]) -> Path:
    tables = sound_tables(directory.name)
    for (table, column), name in name_of.items():
        for row in tables[table]:
            row[column] = name
    return write_job(directory, tables)


def assert_safe(text: str) -> None:
    """Nothing in it that steers a terminal, but our own colours and line ends."""
    assert not UNSAFE.search(OWN_STYLES.sub("", text).replace("\n", ""))


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, tuple(sorted(name for name, _ in attrs))))

    def handle_comment(self, data):
        self.found.append(("comment", ()))


def tags_of(page: str) -> set[tuple[str, tuple[str, ...]]]:
    tags = _Tags()
    tags.feed(page)
    tags.close()
    return set(tags.found)


def said(*arguments: object, status: int = 0) -> Done:
    done = slicewise_command(*arguments)
    assert done.status == status, done.errors
    assert_safe(done.errors)
    return done


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    """A job beside the hostile one, of harmless names."""
    return write_job(tmp_path_factory.mktemp("sound") / "sound", sound_tables("sound", first=100))


@pytest.fixture(scope="module")
def harmless_tags(sound, tmp_path_factory) -> set[tuple[str, tuple[str, ...]]]:
    """What tags and attributes the pages of a job have whose names are harmless."""
    folder = tmp_path_factory.mktemp("pages")
    other = hostile_job(folder / "other", {})
    return set().union(*(tags_of(page.read_text()) for page in write_pages(other, sound, folder)))


def write_pages(job: Path, sound: Path, folder: Path) -> list[Path]:
    commands = {
        "report": ["report", job], "overlap": ["overlap", job, sound], "flamegraph": ["report", "--flamegraph", job],
        "compare": ["compare", sound, job], "copies": ["predict", "--copies", job, "--capacity", "1GiB/s"],
    }  # fmt: skip
    pages = [folder / f"{name}.html" for name in commands]
    for command, page in zip(commands.values(), pages, strict=True):
        assert_safe(said(*command, "--html", page).text)
    return pages


@settings(
    max_examples=int(os.environ.get("SLICEWISE_HOSTILE_EXAMPLES", "1")),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.lists(NAMES, min_size=len(PLACES), max_size=len(PLACES)),
    st.lists(st.sampled_from(ATOMS), max_size=3).map("".join),
)
@example([HOSTILE] * len(PLACES), "\x1b[31m[red]\n\udcff")
@example([""] * len(PLACES), "")
def test_every_command_and_form(sound, harmless_tags, tmp_path_factory, names, directory):
    folder = tmp_path_factory.mktemp("job")
    safe_for_files = re.sub("[/\0]|^\\.+", "", directory).encode(errors="replace").decode()[:80]
    if "\udcff" in directory:
        safe_for_files += "\udcff"
    job = hostile_job(folder / f"job{safe_for_files}", dict(zip(PLACES, names, strict=True)))
    for page in write_pages(job, sound, folder):
        text = page.read_text()
        assert_safe(text)
        assert sorted(tags_of(text) - harmless_tags) == []
    for command in (
        ["report", "--detail", job, "--phases"],
        ["study", "delta", "read", job],
        ["turns", "policy", job, sound, "--capacity", "1GiB/s", "--html", folder / "p"],
        ["turns", "probability", job, sound, "--html", folder / "p"],
        ["study", "model", "fit", job, sound],
        ["study", "campaign", job, sound, "--html", folder / "c"],
    ):
        done = slicewise_command(*command)
        assert done.status in (0, 1, 2)
        assert_safe(done.text)
        assert_safe(done.errors)
        assert done.errors.count("\n") <= 1
    for command in (
        ["report", "--detail", job],
        ["overlap", job, sound],
        ["compare", job, sound],
        ["predict", "--copies", job, "--capacity", "1GiB/s"],
        ["study", "campaign", job, sound],
    ):
        done = slicewise_command(*command, "--json")
        assert_safe(done.text)
        answer = json.loads(done.text) if done.status == 0 else {}
        if "--detail" in command:
            assert answer["job"] == names[0].encode(errors="surrogatepass").decode(errors="replace")
    folded = said("export", job, "--format", "folded").text
    assert_safe(folded)
    assert all(re.fullmatch(r".+ \d+", line) for line in folded.splitlines())
    for table in ("processes", "mounts", "files", "frames", "modules", "slices", "hardware"):
        content = said("export", job, "--format", "csv", "--table", table).text
        assert_safe(content)
        rows = list(csv.reader(io.StringIO(content)))
        assert len({len(row) for row in rows}) == 1
        texts = [cell for row in rows for cell in row if not re.fullmatch(r"-?[\d.e+-]+", cell)]
        assert not any(cell.startswith(("=", "+", "-", "@")) for cell in texts)
    json.loads(said("export", job, "--format", "ftio").text)
    assert said("export", job, "--format", "parquet", "--table", "processes").output
    assert_safe(said("recover", "--merge", job, "-o", folder / "merged\x1b[0m.swz").text)
    missing = said("report", "--detail", folder / f"none{safe_for_files}", status=2).errors
    assert missing.count("\n") == 1


@given(NAMES, NAMES)
@example(HOSTILE, HOSTILE)
def test_the_live_screen_and_the_metrics(name, other):
    activity = Activity(1.0, 2.0, 3.0, 4.0, 0.5)
    job = JobNow(
        name, [1], activity, 1, 1, [MountNow(other, name, name, 1.0, 0.5)], [ProcessNow(1, 0, other, activity)], [1.0]
    )
    screen = Screen()
    for opened in (None, name):
        screen.opened = opened
        shown = Console(file=io.StringIO(), force_terminal=True, width=200)
        shown.print(screen.draw([job], other, [ServedNow(name, True, other, 1.0, 2.0, 3.0, 1)]))
        assert_safe(shown.file.getvalue())
    metrics = Metrics()
    process = ProcessLook("1", name, "", other, 1, 1, 0, 1, {(other, name, name): Counts({"read_bytes": 5})}, 1, 1)
    metrics.take(Look(1, 1, {"1": process}))
    text = metrics.text()
    assert_safe(text)
    text.encode()
    label = r'"(?:[^"\\\n]|\\\\|\\"|\\n)*"'
    for line in text.splitlines():
        assert line.startswith("# ") or re.fullmatch(rf"[a-z_]+\{{[a-z]+={label}(,[a-z]+={label})*\}} [\d.]+", line)


@given(st.text() | NAMES)
@example(HOSTILE)
def test_text_for_each_medium(name):
    for safe in (visible, metrics_label, folded_frame, csv_cell):
        assert not UNSAFE.search(safe(name))
        safe(name).encode()
    assert ";" not in folded_frame(name)
    assert visible(visible(name)) == visible(name)
    written = json_text({name: [name]}, indent=2)
    assert not UNSAFE.search(written.replace("\n", ""))
    joined = name.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")  # two halves are a letter
    assert json.loads(written) == {joined: [joined]}


def test_plain_letters_of_any_language_stay():
    assert visible("Größe/界面/файл/🙂 [x] \\n {a}") == "Größe/界面/файл/🙂 [x] \\n {a}"
    assert visible("a\x1bb\u202ec\udcff\U000e0041\n") == "a\\x1bb\\u202ec\\xff\\U000e0041\\x0a"
