"""Programs that no library can profile, beside ones that are: their bytes by slice against the kernel's own count."""

import os
import shlex
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.coverage import coverage
from slicewise.catalog.neighbours import rows_of_slices
from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from support.catalogs import catalog_of
from support.command_line import slicewise_command
from support.kernel_witness import Witness
from support.programs import BUILD, LIBRARY, Apps, build_go, need, need_built

SLICEWISE = BUILD / "bin" / "slicewise"
SLICE_NS = 2_000_000_000
SECONDS = 11
# Of a slice's bytes, and of what the run moved in a slice on average.
TOLERANCE = 0.05
# The look that ends a slice comes within so long a time; what a program that is gone by then moved is not known.
LOOK_NS = 300_000_000
# Of a slice: looks that were nearer to its edges say nothing.
UNSURE_SHARE = 0.01


@pytest.fixture(scope="session")
def static_program(apps: Apps, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shutil.copy(apps.build("paced_writer", "-static"), tmp_path_factory.mktemp("static") / "paced-static")


CONTAINER = shlex.split("bwrap --unshare-pid --unshare-user --bind / / --dev-bind /dev /dev --proc /proc")
COPY = "dd if=/dev/zero of=data bs=1M count=3 status=none"
WITHOUT_LIBRARY = shlex.split("--unsetenv LD_PRELOAD --setenv SLICEWISE_OFF 1")
OTHERS_BYTES = 3 << 20


@dataclass(frozen=True)
class Recording:
    digest: Digest
    witnesses: dict[str, Witness]
    members: pl.DataFrame  # as the collector wrote them


@pytest.fixture(scope="module")
def recorded(apps: Apps, static_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """All of these programs beside each other in one job, and what the kernel counted of each."""
    need_built(SLICEWISE, LIBRARY)
    need("bwrap")
    folder = tmp_path_factory.mktemp("sampled")
    bare, bound = (
        shutil.copy(apps.build("paced_writer"), folder / f"paced-{binding}") for binding in ("bare", "bound")
    )
    commands = {
        "static": [static_program], "go": [build_go(folder, "paced_writer")],
        "bare": [*CONTAINER, *WITHOUT_LIBRARY, bare], "bound": [*CONTAINER, bound],
    }  # fmt: skip
    begun = [f"{shlex.join(map(str, words))} {SECONDS} data-{name} &" for name, words in commands.items()]
    script = "\n".join([*begun, f"dd if=/dev/zero of=other bs={OTHERS_BYTES} count=1 2>/dev/null; wait"])
    witnesses = {name: Witness(Path(words[-1])) for name, words in commands.items()}
    options = ["--dir", folder / "profiles", "--job", "job", "--slice", str(SLICE_NS / 1e9)]
    with subprocess.Popen(
        [SLICEWISE, "run", *options, "--", "sh", "-c", script], cwd=folder, stderr=subprocess.PIPE
    ) as job:
        while job.poll() is None:
            time.sleep(0.02)
            for witness in witnesses.values():
                witness.look()
    profile = read_profile(folder / "profiles" / "job")
    assert profile.damage == []
    return Recording(Digest(profile), witnesses, profile.node_processes)


@pytest.mark.parametrize(("kind", "reason"), [("static", "static"), ("go", "go"), ("bare", "off")])
def test_a_program_without_the_library_is_sampled_slice_by_slice(recorded, kind, reason):
    """`bare`: in bwrap's namespaces of processes, users and mounts, where it counts once."""
    witness = recorded.witnesses[kind]
    (one,) = [one for one in coverage(recorded.digest).sampled if Path(one.program).name == witness.name]
    assert one.reason == reason
    rows = recorded.digest.sampled_slices.join(
        recorded.digest.sampled_processes.filter(pl.col("program") == witness.name), on=["process", "nth"], how="semi"
    )
    sampled = {row["slice"]: (row["write_bytes"], row["unsure_ns"]) for row in rows.iter_rows(named=True)}
    named = recorded.members.filter(pl.col("program").cast(pl.String).str.ends_with(witness.name))
    (began_ns,) = named["first_ns"].unique()
    counted = {
        number: count
        for number, count in witness.by_slice(SLICE_NS).items()
        if began_ns <= number * SLICE_NS and (number + 1) * SLICE_NS <= min(one.end_ns, witness.last_ns - LOOK_NS)
    }
    assert len(counted) >= 3
    usual = witness.last * SLICE_NS / 1e9 / SECONDS
    for number, count in counted.items():
        moved, unsure_ns = sampled.get(number, (0, 0))  # there is no row where nothing moved
        # A look that comes late says so: what the program did around the slice's edges may then be the neighbour's.
        begin_ns, end_ns = number * SLICE_NS - unsure_ns, (number + 1) * SLICE_NS
        told = witness.most_in(unsure_ns, begin_ns, end_ns) if unsure_ns > UNSURE_SHARE * SLICE_NS else 0
        assert abs(moved - count) <= TOLERANCE * max(count, usual) + told, (
            f"slice {number}: {sampled} of {counted}; first looked at {began_ns / SLICE_NS:.3f}, {one}"
        )
    # The last look may be a look before the end that it tells: on a busy machine a late one.
    least, most = witness.until(one.end_ns - 3 * LOOK_NS), witness.until(one.end_ns)
    assert (1 - TOLERANCE) * least <= one.write_bytes <= (1 + TOLERANCE) * most


def test_a_program_with_the_library_in_a_container_is_profiled_and_counts_once(recorded):
    witness = recorded.witnesses["bound"]
    own = recorded.digest.processes.filter(pl.col("program") == witness.name)
    assert own["write_bytes"].sum() == pytest.approx(witness.last, rel=TOLERANCE)
    assert witness.name not in [Path(one.program).name for one in coverage(recorded.digest).sampled]


def test_nothing_that_was_sampled_is_in_the_totals_of_calls(recorded):
    profiled = recorded.digest.processes.filter(pl.col("program") == recorded.witnesses["bound"].name)
    assert recorded.digest.about["write_bytes"] == profiled["write_bytes"].sum() + OTHERS_BYTES


def test_a_thousand_short_processes_are_profiled_and_none_is_sampled(tmp_path):
    """A shell loop: each process counts by itself, however short it is."""
    count = 1000
    script = f"i=0; while [ $i -lt {count} ]; do /bin/echo $i >> out; i=$((i + 1)); done"
    command = [SLICEWISE, "run", "--dir", "profiles", "--job", "job", "--", "sh", "-c", script]
    subprocess.run(command, cwd=tmp_path, stderr=subprocess.DEVNULL, check=True)
    digest = Digest(read_profile(tmp_path / "profiles" / "job"))
    echoes = digest.processes.filter(pl.col("program").str.contains("echo|coreutils"))
    assert echoes.height == count
    written = digest.coverage.join(echoes, on="process", how="semi")
    assert (
        written["write_seen"].sum()
        == written["write_kernel"].sum()
        == sum(len(f"{number}\n") for number in range(count))
    )
    assert coverage(digest).sampled == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")
@pytest.mark.parametrize("kind", ["static", "go"])
def test_data_and_log_in_two_places(apps: Apps, tmp_path: Path, kind: str) -> None:
    """The data count where they are written, though the log is opened later; in a catalog as well."""
    built = build_go(tmp_path, "two_places") if kind == "go" else Path(apps.build("two_places", "-static"))
    program, image, disk = shutil.copy(built, tmp_path / "two-places"), tmp_path / "image", tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["truncate", "-s", "128M", image], check=True)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    run = [SLICEWISE, "run", "--dir", "profiles", "--job", "job", "--slice", "1", "--"]
    command = shlex.join(map(str, [*run, program, 6, disk / "data", tmp_path / "log"]))
    mounted = f"mount -o loop {image} {disk} && {command}"
    subprocess.run(["unshare", "--mount", "sh", "-c", mounted], cwd=tmp_path, stderr=subprocess.DEVNULL, check=True)
    digest = Digest(read_profile(tmp_path / "profiles" / "job"))
    (found,) = digest.sampled_storages.filter(pl.col("write_share") > 0).iter_rows(named=True)
    assert (found["point"], found["write_share"]) == (str(disk), 1.0)
    counted = digest.sampled_slices["storage_write_bytes"].sum()
    site = catalog_of(tmp_path / "site", tmp_path / "profiles")
    rows = rows_of_slices(site, site.batches()).filter(pl.col("write_bytes") > 0).collect()
    written = rows.group_by("storage").agg(pl.col("write_bytes").sum())
    assert written.rows() == [(found["storage"], pytest.approx(counted, rel=1e-6))]


def _run(folder: Path, *words: object) -> str:
    """What `slicewise run` says at the end."""
    command = [SLICEWISE, "run", "--dir", "profiles", "--job", "job", *map(str, words)]
    return subprocess.run(command, cwd=folder, stderr=subprocess.PIPE, text=True, check=True).stderr


def test_a_job_of_a_static_program_alone_is_kept_as_it_was_sampled(tmp_path, static_program):
    said = _run(tmp_path, "--slice", "0.5", "--", static_program, "3", "data")
    assert "nothing was profiled: 1 process could not be profiled (static)" in said
    assert f"{static_program.name} (process " in said
    place = tmp_path / "profiles" / "job"
    digest = Digest(read_profile(place))
    (one,) = coverage(digest).sampled
    assert digest.sampled_slices["write_bytes"].sum() == one.write_bytes
    assert digest.sampled_slices["slice"].n_unique() > 3
    launched = digest.launches["write_bytes"].sum()
    assert 0.5 * launched < one.write_bytes <= launched
    assert (digest.about["processes"], digest.about["write_bytes"], digest.about["slice_ns"]) == (0, 0, 500_000_000)
    assert digest.about["program"] == static_program.name
    told = {command: _told(command, place) for command in ("report --detail", "report", "list")}
    assert f"Job job: {static_program.name}, 1 process on 1 node" in told["report --detail"]
    assert "Job job: none of its processes could be profiled; 1 process on 1 node was sampled" in told["report"]
    assert static_program.name in told["list"]


def test_a_setting_turns_it_off(tmp_path, static_program, monkeypatch):
    monkeypatch.setenv("SLICEWISE_SAMPLE_PROCESSES", "0")
    script = f"dd if=/dev/zero of=other bs=1M count=1 2>/dev/null; {static_program} 2 data"
    _run(tmp_path, "--slice", "0.5", "--", "sh", "-c", script)
    profile = read_profile(tmp_path / "profiles" / "job")
    assert profile.node_slices["slice"].n_unique() > 2
    assert profile.node_processes.is_empty()


def _told(command: str, place: Path) -> str:
    options = ["--html", str(place.parent / "page.html")] if command == "report" else []
    return " ".join(slicewise_command(*command.split(), place, *options).text.split())


def test_run_of_a_short_static_program_says_what_to_do(tmp_path, static_program):
    said = ""
    for number in range(5):  # one that runs when the collector looks is sampled
        said = _run(tmp_path, "--job", f"job{number}", "--", static_program, "0.3", "data")
        if "; sampled." not in said:
            break
    assert "nothing was profiled: 1 process could not be profiled (static)" in said
    assert "By the kernel's count the command wrote" in said
    assert "try --slice 0.5" in said


def test_a_child_that_is_not_to_be_profiled_is_named_so(tmp_path):
    said = _run(tmp_path, "--", "sh", "-c", f"{COPY}; SLICEWISE_OFF=1 {COPY}; env SLICEWISE_OFF=1 {COPY}")
    assert "2 processes could not be profiled (SLICEWISE_OFF=1 is set): dd" in said


def test_a_command_that_is_not_to_be_profiled_is_named_so(tmp_path, monkeypatch):
    monkeypatch.setenv("SLICEWISE_OFF", "1")
    said = _run(tmp_path, "--", "dd", "if=/dev/zero", "of=data", "bs=1M", "count=3", "status=none")
    assert "nothing was profiled: 1 process could not be profiled (SLICEWISE_OFF=1 is set): dd" in said


def test_where_threads_sleep_is_told_as_an_estimate(apps: Apps, tmp_path: Path) -> None:
    need_built(SLICEWISE, LIBRARY)
    slept = 5.0
    ended = subprocess.run(
        [SLICEWISE, "run", "--job", "asleep", "--slice", "1", "--", apps.build("asleep"), str(round(1000 * slept))],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    signals = Digest(read_profile(tmp_path / "slicewise" / "asleep")).node_slices
    places = signals.filter(pl.col("signal") == "waiting").group_by("device").agg(pl.col("amount").sum())
    # The collector knows the process a slice after it began, at the latest; on a busy machine looks are far apart.
    assert 0.4 * slept < places["amount"].sum() < 1.1 * slept, places
    assert not [name for name in places["device"] if "." in name]
