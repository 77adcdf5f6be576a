"""Runs the two commands of a Delta-graph, alone and together, and goes on from DIR/done, which has a line a run."""

import contextlib
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from slicewise.errors import UserError, mended_by
from slicewise.running.installation import find_installation
from slicewise.running.started import IN_ITS_OWN_GROUP, SECONDS_TO_END, end, started
from slicewise.text import words
from slicewise.toml import tomllib

SECONDS_TO_FETCH = 60
COLLECTOR = "slicewise-collect"
# Settings of ours that a collector needs to count as the job's processes do.
PASSED_ON = ("SLICEWISE_SLICE", "SLICEWISE_STORAGE_PORTS")
# The end of its input is what ends it; the archive that it prints has the job's directory of profiles.
SCRIPT = """\
collector={collector}
[ -x "$collector" ] || collector={name}
folder=$(mktemp -d) || exit 1
{settings} SLICEWISE_DIR="$folder" "$collector" node --samples --job {job} >&2 &
cat > /dev/null
kill $! 2> /dev/null
{{ wait $!; }} 2> /dev/null
tar -cf - -C "$folder" .
rm -rf "$folder"
"""


def hosts_of(text: str) -> list[str]:
    """The hosts of a list as mpirun takes it, each once, without this node, which `slicewise run` samples."""
    named = [word.strip().partition(":")[0] for word in text.split(",")]
    here = os.uname().nodename.partition(".")[0]
    return list(dict.fromkeys(host for host in named if host and host.rpartition("@")[2].partition(".")[0] != here))


@contextlib.contextmanager
def sampled(
    hosts: Mapping[str, Sequence[str]], directory: Path, slice_seconds: float | None, say: Callable[[str], None]
) -> Iterator[None]:
    """Meanwhile hosts (by job, whose profile is in directory/JOB) are sampled; what was counted is there at the end.
    say: takes a line about a host that was not sampled. After an exception nothing is fetched.
    """
    with contextlib.ExitStack() as running:
        collectors = [
            (job, host, running.enter_context(_collector(host, job, slice_seconds)))
            for job, named in hosts.items()
            for host in named
        ]
        yield
        for _, _, (process, _, _) in collectors:
            _close(process)
        for job, host, (process, archive, words) in collectors:
            reason = _fetched(process, archive, words, directory / job, host)
            if reason:
                say(f"{host}: was not sampled: {reason}")


@contextlib.contextmanager
def _collector(
    host: str, job: str, slice_seconds: float | None
) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes], IO[bytes]]]:
    command = ["ssh", "-oBatchMode=yes", "--", host, f"exec sh -c {shlex.quote(_script(job, slice_seconds))}"]
    with tempfile.TemporaryFile() as archive, tempfile.TemporaryFile() as words:
        with mended_by("ssh", "leave out nodes_a, nodes_b and servers, or mend that"):
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=archive, stderr=words, **IN_ITS_OWN_GROUP)
        try:
            yield process, archive, words
        finally:
            _close(process)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(SECONDS_TO_END)
            end(process)


def _close(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()


def _script(job: str, slice_seconds: float | None) -> str:
    settings = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    if slice_seconds is not None:
        settings["SLICEWISE_SLICE"] = f"{slice_seconds:g}"
    return SCRIPT.format(
        collector=shlex.quote(str(find_installation().collector)),
        name=COLLECTOR,
        settings=" ".join(f"{name}={shlex.quote(value)}" for name, value in settings.items()),
        job=shlex.quote(job),
    )


def _fetched(process: subprocess.Popen[bytes], archive: IO[bytes], words: IO[bytes], job: Path, host: str) -> str:
    """Takes over what a collector counted. Gives why there is none, or ""."""
    try:
        process.wait(SECONDS_TO_FETCH)
    except subprocess.TimeoutExpired:
        return f"it sent nothing for {SECONDS_TO_FETCH} s"
    archive.seek(0)
    taken = 0
    try:
        with tarfile.open(fileobj=archive) as packed:
            for entry in packed:
                is_profile = entry.isfile() and entry.name.endswith(".swz")
                content = packed.extractfile(entry) if is_profile else None
                if content is None:
                    continue
                job.mkdir(exist_ok=True)
                # The job's own processes may have written a profile of that node's name.
                number = sum(1 for _ in job.glob("sampled-*.swz"))
                (job / f"sampled-{number}-{Path(entry.name).name}").write_bytes(content.read())
                taken += 1
    except (OSError, tarfile.TarError) as error:
        if taken == 0 and process.returncode == 0:
            return str(error)
    if taken:
        return ""
    words.seek(0)
    said = words.read().decode(errors="replace").strip().splitlines()
    if said:
        return said[-1]
    return f"ssh ended with status {process.returncode}" if process.returncode else "the run ended before it began"


START = "{start}"
MOST_OFFSETS = 1000
SECONDS_TO_START = 3.0  # of commands that are told when
DESCRIBED = "sweep.json"
SHIPPED = Path(__file__).parent / "plans"
PANEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+@=-]{0,63}")
SETTING = re.compile(r"\{(\w+)\}")
TEXTS = ("setup", "teardown", "a", "b")
# Whom collectors sample over ssh.
NODES = ("nodes_a", "nodes_b", "servers")
NUMBERS = ("from", "to", "step", "slice", "repeat")


@dataclass(frozen=True)
class DeltaPlan:
    """Commands A and B as one line each, the offsets of B (s), repeats, and the slice (s; None: the default). nodes_a,
    nodes_b, servers: nodes of A, of B, and file servers, which a collector samples over ssh (see `hosts_of`).
    """

    a: str
    b: str
    offsets: list[float]
    repeats: int
    slice_seconds: float | None
    nodes_a: str = ""
    nodes_b: str = ""
    servers: str = ""


def offsets_of(where: str, first: float, last: float, step: float) -> list[float]:
    """The offsets of a plan. Raises UserError where there are none, or too many."""
    if not (step > 0 and last >= first and (last - first) / step < MOST_OFFSETS):
        raise UserError(f"{where}: no offsets; give for instance -20, 20 and 5")
    return [float(first + place * step) for place in range(int((last - first) / step + 1e-9) + 1)]


@dataclass(frozen=True)
class DeltaRun:
    """One run: its name, and the commands by their profiles' names with the second of its start that each begins at."""

    name: str
    jobs: dict[str, tuple[str, float]]


def runs_of(plan: DeltaPlan) -> list[DeltaRun]:
    """All runs in the order in which they are done: round robin, each repeat alone and at every offset."""
    found = []
    for repeat in range(1, plan.repeats + 1):
        found.append(DeltaRun(f"a-alone-{repeat}", {f"a-alone-{repeat}": (plan.a, 0.0)}))
        if plan.b != plan.a:
            found.append(DeltaRun(f"b-alone-{repeat}", {f"b-alone-{repeat}": (plan.b, 0.0)}))
        for offset in plan.offsets:
            name = f"dt{offset:+g}-{repeat}"
            first = max(0.0, -offset)
            jobs = {f"{name}-a": (plan.a, first), f"{name}-b": (plan.b, first + offset)}
            found.append(DeltaRun(name, jobs))
    return found


def runs_left(plan: DeltaPlan, directory: Path) -> list[DeltaRun]:
    """The runs that are not done yet, of a directory that is made ready for them. Raises as `run_campaign`."""
    done = _open_campaign(plan, directory)
    return [run for run in runs_of(plan) if run.name not in done]


def run_campaign(plan: DeltaPlan, directory: Path, say: Callable[[str], None]) -> None:
    """Do all runs that are not done yet. say: takes a line of progress. Raises UserError where the directory holds
    another campaign, cannot be written, or a command fails; interrupted, it ends what it started, and the same call
    goes on.
    """
    left = runs_left(plan, directory)
    done = len(runs_of(plan)) - len(left)
    if done:
        say(f"{words.count(done, 'run')} done already; {len(left)} to go")
    took: list[float] = []
    told: set[str] = set()

    def say_once(line: str) -> None:
        if line not in told:
            told.add(line)
            say(line)

    for place, run in enumerate(left):
        remaining = words.duration(sum(took) / len(took) * (len(left) - place)) if took else "unknown"
        say(f"{done + place + 1}/{done + len(left)}  {run.name}  (time left: {remaining})")
        began = time.monotonic()
        _run_one(plan, run, directory, say_once)
        took.append(time.monotonic() - began)
        with (directory / "done").open("a", encoding="utf-8") as log:
            log.write(run.name + "\n")


def _open_campaign(plan: DeltaPlan, directory: Path) -> set[str]:
    """The names of the runs that are done in the directory, which is made ready for the others."""
    described = directory / "campaign.json"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if described.exists():
            if DeltaPlan(**json.loads(described.read_text(encoding="utf-8"))) != plan:
                raise UserError(f"{directory}: holds a campaign of other commands or offsets; choose another --dir")
        elif any(directory.iterdir()):
            raise UserError(f"{directory}: holds other files; choose another --dir")
        else:
            described.write_text(json.dumps(asdict(plan), indent=2) + "\n", encoding="utf-8")
        (directory / "output").mkdir(exist_ok=True)
        return _done(directory)
    except OSError as error:
        raise UserError(f"{directory}: cannot be used: {error.strerror}; choose another --dir") from error
    except (ValueError, TypeError) as error:
        raise UserError(f"{described}: is damaged; choose another --dir") from error


def _done(directory: Path) -> set[str]:
    log = directory / "done"
    return set(log.read_text(encoding="utf-8").split()) if log.exists() else set()


def _run_one(plan: DeltaPlan, run: DeltaRun, directory: Path, say: Callable[[str], None]) -> None:
    for job in run.jobs:
        shutil.rmtree(directory / job, ignore_errors=True)
    is_told = any(START in command for command, _ in run.jobs.values())
    start_at = time.time() + (SECONDS_TO_START if is_told else 0.0)
    with sampled(_sampled_hosts(plan, run), directory, plan.slice_seconds, say), contextlib.ExitStack() as running:
        processes = {}
        for job, (command, delay) in sorted(run.jobs.items(), key=lambda item: item[1][1]):
            if START not in command:
                time.sleep(max(0.0, start_at + delay - time.time()))
            words_of = shlex.split(command.replace(START, f"{start_at + delay:.3f}"))
            output = running.enter_context((directory / "output" / job).open("wb"))
            processes[job] = running.enter_context(
                started(
                    _profiled(plan, job, directory, words_of), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                    env=os.environ, **IN_ITS_OWN_GROUP,
                )
            )  # fmt: skip
        for job, process in processes.items():
            status = process.wait()
            if status != 0:
                its = directory / "output" / job
                raise UserError(f"{run.jobs[job][0]}: ended with status {status}; its output is in {its}")


def _sampled_hosts(plan: DeltaPlan, run: DeltaRun) -> dict[str, list[str]]:
    """Whom collectors sample for each job of a run: its own nodes and the servers."""
    of_b = {job for job in run.jobs if job.endswith("-b") or job.startswith("b-")}
    return {job: hosts_of(f"{plan.nodes_b if job in of_b else plan.nodes_a},{plan.servers}") for job in run.jobs}


def _profiled(plan: DeltaPlan, job: str, directory: Path, command: Sequence[str]) -> list[str]:
    of_slice = ["--slice", f"{plan.slice_seconds:g}"] if plan.slice_seconds else []
    run = [sys.executable, "-I", "-m", "slicewise", "run", "--dir", str(directory), "--job", job, *of_slice, "--"]
    return [*run, *command]


@dataclass(frozen=True)
class SweepPanel:
    """One panel: its name, the sweep that it belongs to, the commands around it ("": none), and its Delta-graph."""

    name: str
    sweep: str
    setup: str
    teardown: str
    plan: DeltaPlan


@dataclass(frozen=True)
class SweepPlan:
    """A title, and the panels in their order."""

    title: str
    panels: list[SweepPanel]


def shipped_plans() -> dict[str, Path]:
    """The plans that come with Slicewise, by name."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.toml"))}


def read_plan(path: Path, given: Mapping[str, str] | None = None) -> SweepPlan:
    """The plan of a file, or of a shipped name; given: settings in place of its own. Raises UserError."""
    if not path.exists():
        path = shipped_plans().get(str(path), path)
    try:
        with mended_by(f"{path}: cannot be read", "give a plan in TOML"):
            told = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path}: is no TOML: {error}; see `slicewise study sweep --help` for an example") from error
    listed = told.pop("panel", [])
    if not isinstance(listed, list) or not listed or not all(isinstance(one, dict) for one in listed):
        raise UserError(f"{path}: has no panels; begin each with [[panel]] and a name")
    title = told.pop("title", path.stem)
    if unknown := set(given or {}) - _settings(told, listed):
        raise UserError(
            f"{path}: has no setting {min(unknown)}; it has {words.listing(sorted(_settings(told, listed)))}"
        )
    own_words = {word: _as_number(word, value) if word in NUMBERS else value for word, value in (given or {}).items()}
    panels = [_panel(path, told | own | own_words) for own in listed]
    names = [panel.name for panel in panels]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UserError(f"{path}: two panels are named {twice}; give each a name of its own")
    return SweepPlan(str(title), panels)


def _settings(told: Mapping[str, Any], listed: Sequence[Mapping[str, Any]]) -> set[str]:
    """What may be given from outside: what a plan's commands may name, its offsets, repeats and slice, and nodes."""
    of_sweep = {"name", "sweep", *TEXTS}
    return {name for settings in (told, *listed) for name in settings} - of_sweep | {*NUMBERS, *NODES}


def _as_number(word: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UserError(f"--set {word}={value}: is no number; give for instance {word}=5")
    return number


def _panel(path: Path, settings: Mapping[str, Any]) -> SweepPanel:
    """One panel from its own settings over those of the file; {word} in a command is the setting of that name."""
    name = settings.get("name")
    if not isinstance(name, str) or not PANEL_NAME.fullmatch(name):
        raise UserError(f"{path}: the panel name {name!r} is no word of letters, digits and . _ + @ = -; mend it")
    where = f"{path}: panel {name}"
    texts = {}
    for key in (*TEXTS, *NODES):
        text = settings.get(key, "")
        if key in NODES and not isinstance(text, str):
            raise UserError(f"{where}: {key} is no list of nodes; give it as {key} = 'HOST,HOST'")
        if not isinstance(text, str) or (key in ("a", "b") and not text):
            raise UserError(f"{where}: {key} is no command; give it as {key} = 'COMMAND'")
        texts[key] = SETTING.sub(lambda found: _filled(where, settings, found), text)
    numbers = {"repeat": 1, "slice": None} | {key: settings[key] for key in NUMBERS if key in settings}
    for key in NUMBERS:
        is_none = key == "slice" and numbers[key] is None
        if not is_none and (isinstance(numbers.get(key), bool) or not isinstance(numbers.get(key), int | float)):
            raise UserError(f"{where}: {key} is no number; give for instance from = -20, to = 20 and step = 5")
    first, last, step, repeats = numbers["from"], numbers["to"], numbers["step"], numbers["repeat"]
    offsets = offsets_of(f"{where}: from {first} to {last} by {step}", first, last, step if repeats >= 1 else 0)
    nodes = {key: texts[key] for key in NODES}
    plan = DeltaPlan(texts["a"], texts["b"], offsets, int(repeats), numbers["slice"], **nodes)
    return SweepPanel(name, str(settings.get("sweep", "")), texts["setup"], texts["teardown"], plan)


def _filled(where: str, settings: Mapping[str, Any], found: re.Match[str]) -> str:
    if found.group() == START:
        return START
    value = settings.get(found.group(1))
    if not isinstance(value, str | int | float):
        raise UserError(f"{where}: {found.group()} in a command has no value; add {found.group(1)} = VALUE")
    return str(value)


def run_sweep(plan: SweepPlan, directory: Path, say: Callable[[str], None], only: Sequence[str] = ()) -> None:
    """Do all runs of all panels that are not done yet; a panel that is recorded is not set up again. only: names of the
    panels to run; all, if there is none. Raises UserError where the directory holds other panels, the plan has no such
    panel, or a command fails; the same call goes on.
    """
    names = [panel.name for panel in plan.panels]
    for name in only:
        if name not in names:
            raise UserError(f"the plan has no panel {name}; it has {words.listing(names)}")
    _describe(plan, directory)
    for place, panel in enumerate(plan.panels, start=1):
        if only and panel.name not in only:
            continue
        where = f"panel {place}/{len(plan.panels)}, {panel.name}"
        left = runs_left(panel.plan, directory / panel.name)
        if not left:
            say(f"{where}: recorded already")
            continue
        say(f"{where}: {words.count(len(left), 'run')} to go")
        try:
            _around(panel.setup, directory, f"{panel.name}.setup")
            run_campaign(panel.plan, directory / panel.name, say)
        except BaseException:
            with contextlib.suppress(UserError):  # what went wrong first is what is told
                _around(panel.teardown, directory, f"{panel.name}.teardown")
            raise
        _around(panel.teardown, directory, f"{panel.name}.teardown")


def is_recorded(panel: SweepPanel, directory: Path) -> bool:
    """Whether all runs of a panel are done; looks, and makes nothing."""
    done = _done(directory / panel.name)
    return all(run.name in done for run in runs_of(panel.plan))


def read_recorded(directory: Path) -> SweepPlan:
    """The plan of a sweep that was recorded. Raises UserError where there is none."""
    described = directory / DESCRIBED
    try:
        told = json.loads(described.read_text(encoding="utf-8"))
        panels = [SweepPanel(**panel | {"plan": DeltaPlan(**panel["plan"])}) for panel in told["panels"]]
        if not all(PANEL_NAME.fullmatch(panel.name) for panel in panels):
            raise ValueError
        return SweepPlan(str(told["title"]), panels)
    except OSError as error:
        raise UserError(f"{described}: {error.strerror}; give the directory of a recorded sweep") from error
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(f"{described}: is damaged; give the directory of a recorded sweep") from error


def _describe(plan: SweepPlan, directory: Path) -> None:
    """Panels may be added to a recorded sweep; one that is there must be the same."""
    described = directory / DESCRIBED
    if described.exists():
        had = {panel.name: panel for panel in read_recorded(directory).panels}
        for panel in plan.panels:
            if had.get(panel.name, panel) != panel:
                raise UserError(
                    f"{directory}: its panel {panel.name} is another one; rename it or choose another --dir"
                )
    with mended_by(f"{directory}: cannot be used", "choose another --dir"):
        directory.mkdir(parents=True, exist_ok=True)
        described.write_text(json.dumps(asdict(plan), indent=2) + "\n", encoding="utf-8")


def _around(command: str, directory: Path, name: str) -> None:
    """Runs a panel's setup or teardown, with its output in a file."""
    if not command:
        return
    log = directory / f"{name}.log"
    with (
        mended_by(f"{command}: cannot be run", "mend the plan"),
        log.open("wb") as output,
        started(shlex.split(command), stdin=subprocess.DEVNULL, stdout=output, stderr=output) as process,
    ):
        status = process.wait()
    if status != 0:
        raise UserError(f"{command}: ended with status {status}; its output is in {log}")
