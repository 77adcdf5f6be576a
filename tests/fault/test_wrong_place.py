"""Places that a profile does not belong to: another root directory, a deleted one, one that somebody else planted or
may write to.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from slicewise.profile.reader import read_profile
from support.programs import COLLECTOR, LIBRARY, Apps, Ended, Job, need, total

VICTIM, STRANGER = 65534, 1


def need_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to change the root directory or to be several users")


def assert_kept(job: Job, ended: Ended, words: str) -> None:
    assert ended.status == 3
    assert words in ended.errors
    assert ended.errors.count("\n") == 1
    assert len(job.segments()) == 1


def assert_recovered(job: Job, ending: str = "exit") -> None:
    job.must_recover()
    profile = job.profile()
    assert total(profile, "write_bytes", obj="file") == 300
    assert profile.processes["ending"].to_list() == [ending]


@pytest.mark.parametrize("has_namesake", [False, True])
def test_a_program_that_changes_its_root(job: Job, apps: Apps, has_namesake: bool) -> None:
    """Its profile is not made within the jail, also where the path of its directory leads to one."""
    need_root()
    jail = job.segment_dir / "jail"
    inside = Path(f"{jail}{job.folder}")
    (inside if has_namesake else jail).mkdir(parents=True)
    assert_kept(job, job.run([apps.build("life_ending"), f"chroot={jail}"]), "another root directory")
    assert [path for path in jail.rglob("*") if path.is_file() or path.name == "job"] == []
    assert_recovered(job)


def test_a_program_that_changes_its_root_before_its_first_call(job: Job, apps: Apps) -> None:
    """It has a segment in the jail, and where its profile belongs was never looked at: its path leads to a namesake."""
    need_root()
    jail = job.segment_dir / "jail"
    segments = Path(f"{jail}{job.segment_dir}")
    for inside in (segments, Path(f"{jail}{job.folder}")):
        inside.mkdir(parents=True)
    ended = job.run([apps.build("life_ending"), f"chroot_before={jail}"])
    assert ended.status == 3
    assert "another root directory" in ended.errors
    assert list(jail.rglob("*.swz")) == []
    job.must_recover(SLICEWISE_SEGMENT_DIR=str(segments))
    assert total(job.profile(), "write_bytes", obj="file") == 300


def test_a_jail_in_which_the_directory_is_the_same(job: Job, apps: Apps) -> None:
    need_root()
    need("unshare", "mount", "bash")
    jail = job.segment_dir / "jail"
    inside = Path(f"{jail}{job.folder}")
    inside.mkdir(parents=True)
    script = f'mount --bind {job.folder} {inside} || exit 77; LD_PRELOAD={LIBRARY} exec "$@"'
    command = [apps.build("life_ending"), f"chroot={jail}"]
    ended = job.run_plainly(["unshare", "-m", "bash", "-c", script, "bash", *command])
    if ended.status == 77:
        pytest.skip("mounting in a namespace of one's own is not allowed here")
    assert (ended.status, ended.errors) == (3, "")
    profile = job.profile()
    assert total(profile, "write_bytes", obj="file") == 300


def test_a_working_directory_that_was_deleted_before(job: Job) -> None:
    """A relative SLICEWISE_DIR leads nowhere then: what was counted stays until it is told where to go."""
    here = job.data / "here"
    here.mkdir()
    profiled = f"LD_PRELOAD={LIBRARY} exec bash -c 'printf %300s . > {job.data}/file; exit 3'"
    ended = job.run_plainly(["bash", "-c", f"rmdir {here}; {profiled}"], cwd=here, SLICEWISE_DIR="profiles")
    assert ended.status == 3
    assert "working directory had been deleted" in ended.errors
    assert "slicewise: " in ended.errors
    assert job.recover().returncode == 1
    assert len(job.segments()) == 1
    job.must_recover("--into", job.folder / "rescued")
    job.spool_dir = job.folder / "rescued" / "job"
    assert total(job.profile(), "write_bytes", layers=["posix", "stdio"], obj="file") == 300


def test_a_working_directory_that_is_deleted_meanwhile(job: Job, apps: Apps) -> None:
    """The profile lies where SLICEWISE_DIR led to when the program began."""
    here = job.data / "here"
    here.mkdir()
    script = f"rmdir {here}; cd {job.data}; {apps.build('life_ending')} exit; exit 5"
    ended = job.run(["bash", "-c", script], cwd=here, SLICEWISE_DIR="profiles")
    assert (ended.status, ended.errors) == (5, "")
    assert job.segments() == []
    for directory, program in ((here, "bash"), (job.data, "life_ending")):
        programs = read_profile(directory / "profiles" / "job").processes["program"]
        assert programs.str.contains(program).any()


class Site:
    """A directory that every user may make directories in, and programs as users who share it."""

    def __init__(self, job: Job, apps: Apps) -> None:
        self.job = job
        self.place = job.segment_dir
        self.place.chmod(0o755)
        self.profiles = self.place / "site" / "victim"
        for name in ("site", "segments", "data"):
            (self.place / name).mkdir()
            (self.place / name).chmod(0o1777)
        shutil.copy(LIBRARY, self.place / "library")
        shutil.copy(apps.build("life_ending"), self.place / "program")
        self.spool = self.profiles / "job" / f"{os.uname().nodename}.swz"

    def plant(self, path: Path, owner: int, mode: int) -> None:
        if path.suffix == ".swz":
            path.touch()
        else:
            path.mkdir()
        os.chown(path, owner, owner)
        path.chmod(mode)

    def run(self, user: int, ending: str = "exit", **settings: str) -> Ended:
        ours = {
            "LD_PRELOAD": self.place / "library", "SLICEWISE_DIR": self.profiles,
            "SLICEWISE_SEGMENT_DIR": self.place / "segments",
        }  # fmt: skip
        words = [f"{name}={value}" for name, value in (ours | settings).items()]
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "env", *words]
        return self.job.run_plainly([*become, self.place / "program", ending], cwd=self.place / "data")

    def recover(self, user: int) -> subprocess.CompletedProcess[str]:
        environment = self.job.environment({"LD_PRELOAD": "", "SLICEWISE_SEGMENT_DIR": str(self.place / "segments")})
        command = [COLLECTOR, "recover", "--user", str(user)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def site(job: Job, apps: Apps) -> Site:
    need_root()
    need("setpriv")
    return Site(job, apps)


@pytest.mark.parametrize("user", [VICTIM, 0])
@pytest.mark.parametrize(
    ("planted", "words"),
    [
        ([("dir", STRANGER, 0o755)], "belongs to another user"),
        ([("dir", STRANGER, 0o777)], "others may write"),
        ([("dir", STRANGER, 0o1777)], "others may write"),
        ([("dir", STRANGER, 0o777), ("job", STRANGER, 0o777), ("spool", STRANGER, 0o666)], "others may write"),
        ([("dir", None, 0o755), ("job", STRANGER, 0o755)], "belongs to another user"),
        ([("dir", None, 0o775)], "others may write"),
        ([("dir", None, 0o755), ("job", None, 0o770)], "others may write"),
        ([("dir", None, 0o755), ("job", None, 0o755), ("spool", STRANGER, 0o600)], ""),
        ([("dir", None, 0o755), ("job", None, 0o755), ("spool", None, 0o666)], "others may write"),
    ],
)
def test_what_others_planted_is_refused(
    site: Site, user: int, planted: list[tuple[str, int | None, int]], words: str
) -> None:
    """Nobody else reads a user's file names, and root is a user like any other."""
    places = {"dir": site.profiles, "job": site.spool.parent, "spool": site.spool}
    for name, owner, mode in planted:
        site.plant(places[name], user if owner is None else owner, mode)
    ended = site.run(user)
    assert ended.status == 3
    assert ended.errors.startswith(f"slicewise: {site.spool}: cannot write the profile (")
    assert words in ended.errors
    assert ended.errors.count("\n") == 1
    assert not site.spool.exists() or site.spool.stat().st_size == 0
    assert site.recover(user).returncode == 1
    shutil.rmtree(site.profiles)
    assert site.recover(user).returncode == 0
    assert site.spool.stat().st_uid == user
    assert total(read_profile(site.spool), "write_bytes", obj="file") == 300


def test_a_directory_of_a_users_own_among_others(site: Site) -> None:
    assert site.run(VICTIM).errors == ""
    assert site.profiles.stat().st_mode & 0o7777 == 0o700
    assert total(read_profile(site.spool), "write_bytes", obj="file") == 300


def test_a_user_namespace_leaves_a_place_to_the_user_of_its_number(site: Site) -> None:
    """There every user is called 65534; what a process makes under that name belongs to somebody else."""
    need("unshare")
    if subprocess.run(["unshare", "--user", "true"], check=False).returncode != 0:
        pytest.skip("user namespaces are forbidden here")
    segments = site.place / "segments"
    program = ["unshare", "--user", site.place / "program", "kill"]
    assert site.job.run(program, SLICEWISE_SEGMENT_DIR=str(segments)).status == -9
    assert (segments / f"slicewise-{VICTIM}").stat().st_uid == os.geteuid()

    assert site.run(VICTIM, "kill").status == -9
    (segment,) = (segments / f"slicewise-{VICTIM}.1").iterdir()
    assert segment.stat().st_uid == VICTIM
    assert "recovered 1 process " in site.recover(VICTIM).stdout
    profile = read_profile(site.spool)
    assert total(profile, "write_bytes", obj="file") == 300
    assert (profile.processes["place"].item(), profile.mishaps["mishap"].to_list()) == ("shm", [])

    assert "recovered 1 process " in site.recover(os.geteuid()).stdout
    assert total(site.job.profile(), "write_bytes", obj="file") == 300


def test_a_directory_that_a_group_shares(site: Site) -> None:
    """Where the group is to read, SLICEWISE_DIR may be the group's; only its user may write to a job's directory."""
    site.plant(site.profiles, STRANGER, 0o2770)
    os.chown(site.profiles, STRANGER, VICTIM)
    assert "others may write" in site.run(VICTIM).errors
    assert site.run(VICTIM, SLICEWISE_GROUP="1").errors == ""
    assert site.spool.parent.stat().st_mode & 0o777 == 0o750


def test_a_child_in_a_jail_makes_nothing_there(job: Job, apps: Apps) -> None:
    """It has no shared memory: its counts are lost with it, rather than written where nobody keeps profiles."""
    need_root()
    need("python3")
    jail = job.segment_dir / "jail"
    jail.mkdir()
    program = "import os; os.chroot('.'); os.fork() or open('file', 'w').write('text')"
    for run in (job.run_plainly, job.run):
        assert run(["python3", "-S", "-c", program], cwd=jail).status == 0
        assert [path.name for path in jail.iterdir()] == ["file"]
