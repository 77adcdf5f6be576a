"""What `make dist` makes: which glibc it asks for, that it is the same each time, and that it runs without a clone."""

import json
import os
import re
import shutil
import sys
import zipfile

import pytest
import slicewise
from support.packages import ROOT, packed, portable_parts, run, wheel_of
from support.programs import BUILD, need

# They share build/deb and what modules' fixtures make.
pytestmark = pytest.mark.xdist_group("packages")

GOLDEN = ROOT / "tests" / "golden"
CHECK = ROOT / "packaging" / "old_glibc" / "check"
NATIVE = (
    "lib/libslicewise.so", "lib/libslicewise-coordinate.so", "lib/libslicewise-threads.so",
    "lib/libslicewise-accelerators.so", "lib/libslicewise-nvtx.so", "lib/libslicewise-reader.so",
    "bin/slicewise-collect",
)  # fmt: skip
# What a plain install does not bring.
EXTRAS = (
    "sklearn", "scipy", "dask", "distributed", "darshan", "textual", "mpi4py", "plotly", "zstandard", "pandas",
    "pyarrow",
)  # fmt: skip


@pytest.fixture(scope="module")
def portable(tmp_path_factory):
    return portable_parts(tmp_path_factory)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return wheel_of(tmp_path_factory)


def test_no_file_asks_for_a_younger_glibc_or_another_library(portable):
    """Nor does the build: nobody's program starts where the preloaded library asks for a version that is not there."""
    for place in (portable, BUILD):
        checked = run(CHECK, "2.28", *(place / name for name in NATIVE))
        assert (checked.returncode, checked.stderr) == (0, "")


def test_the_library_has_the_loader_open_no_library_but_libc(portable):
    """Each would be one more file that every process of a job opens and maps."""
    for directory in (portable, BUILD):
        told = run("readelf", "--dynamic", "--wide", directory / NATIVE[0]).stdout
        assert re.findall(r"\(NEEDED\).*\[(.*)\]", told) == ["libc.so.6"]


def test_the_check_names_what_is_too_young(tmp_path):
    (tmp_path / "young.c").write_text(
        '__asm__(".symver memcpy, memcpy@GLIBC_2.14");\nvoid *memcpy(void *, const void *, unsigned long);\n'
        "void *copy(void *a, void *b, unsigned long size) { return memcpy(a, b, size); }\n"
    )
    young = tmp_path / "young.so"
    assert run("gcc", "-shared", "-fPIC", "-fno-builtin", tmp_path / "young.c", "-o", young).returncode == 0
    assert run(CHECK, "2.14", young).returncode == 0
    checked = run(CHECK, "2.13", young)
    assert (checked.returncode, checked.stderr) == (1, f"{young} needs glibc 2.14\n")


WAS_IN = {
    "shm_open": "librt", "aio_read": "librt", "openpty": "libutil", "pthread_create": "libpthread", "dlopen": "libdl",
}  # fmt: skip


@pytest.mark.parametrize("name", WAS_IN)
@pytest.mark.usefixtures("portable")
def test_what_was_no_part_of_the_old_libc_is_not_linked_from_it(name, tmp_path):
    """Its name and version are in today's libc: a program that found it there would not start with the old one."""
    source = tmp_path / "calls.c"
    source.write_text(f"int {name}(); int main(void) {{ return {name}(0, 0, 0, 0, 0); }}\n")
    stubs = ROOT / "build" / "old_glibc"
    linked = run("gcc", "-w", "-std=gnu17", "-fno-builtin", source, "-L", stubs, "-o", tmp_path / "calls")
    assert f"undefined reference to `{name}'" in linked.stderr, WAS_IN[name]


def test_the_library_calls_nothing_that_the_old_libc_lacks(portable):
    """By a name that it stands in front of: the linker finds its own, and that one would lead nowhere."""
    objects = [
        file for part in ("libprofiler", "store", "wrappers") for file in (ROOT / "build/objects" / part).glob("*.o")
    ]
    called = set(re.findall(r" U (\S+)$", run("nm", "--undefined-only", *objects).stdout, re.MULTILINE))
    assert {"fork", "dlopen"} & called
    own = set(re.findall(r" T (\S+)$", run("nm", "--dynamic", portable / NATIVE[0]).stdout, re.MULTILINE))
    lists = [ROOT / "build/old_glibc" / f"{name}.names" for name in ("libc.so.6", "libpthread.so.0", "libdl.so.2")]
    known = {line.split()[0] for file in lists for line in file.read_text().splitlines()}
    assert called & own - known == set()


def test_programs_have_no_constructors():
    """A program that is linked here has its constructors run by glibc 2.34 and later alone."""
    objects = [
        *(ROOT / "build" / "objects" / "collector").glob("*.o"),
        *(ROOT / "build" / "objects" / "store").glob("*.o"),
    ]
    assert len(objects) > 20
    sections = run("readelf", "--section-headers", "--wide", *objects).stdout
    assert not re.findall(r"\.(?:preinit_array|init_array|fini_array|ctors|dtors)", sections)


def test_two_wheels_of_one_commit_are_equal(portable, wheel, tmp_path):
    again = packed(portable, tmp_path)
    assert again.name == wheel.name == f"slicewise-{slicewise.__version__}-py3-none-manylinux_2_28_x86_64.whl"
    assert again.read_bytes() == wheel.read_bytes()


def test_library_and_collector_take_little_room(portable):
    sizes = {name: (portable / name).stat().st_size for name in NATIVE if "reader" not in name}
    assert sum(sizes.values()) < 1_985_000, sizes  # with its scripts the runtime is to stay under 2 MB


@pytest.fixture(scope="module")
def command(wheel, tmp_path_factory):
    """Runs commands of the wheel in one process, far from the clone, where an extra is as if it were not installed."""
    directory = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(directory)
        for entry in archive.infolist():
            (directory / entry.filename).chmod(entry.external_attr >> 16)
    script = directory / "command.py"
    script.write_text(
        f"import json, sys\nsys.path.insert(0, {str(directory)!r})\n"
        f"for name in {EXTRAS!r}:\n    sys.modules[name] = None\n"
        "from slicewise.cli import main\n"
        "for arguments in json.loads(sys.argv[1]):\n"
        "    sys.argv = ['slicewise', *arguments]\n"
        "    try:\n        main()\n"
        "    except SystemExit as ended:\n        if ended.code:\n            raise\n"
    )

    def command(*commands, **options):
        words = [[str(word) for word in arguments] for arguments in commands]
        return run(sys.executable, "-I", script, json.dumps(words), **options)

    return command


def test_the_wheel_profiles_a_command_with_the_library_that_it_carries(command, tmp_path):
    environment = {**os.environ, "SLICEWISE_DIR": str(tmp_path / "profiles")}
    program = ("dd", "if=/dev/zero", "of=f", "bs=1M", "count=3")
    done = command(["run", "--", *program], cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    (job,) = (tmp_path / "profiles").iterdir()
    told = command(["report", "--detail", job, "--json"], cwd=tmp_path)
    assert json.loads(told.stdout)["totals"]["posix"]["write_bytes"] == 3 << 20


def test_without_extras_the_first_answers_are_there(command, tmp_path):
    run("tar", "--extract", "--file", GOLDEN / "campaigns" / "policies-large-small.tar.xz", cwd=tmp_path)
    jobs = sorted(tmp_path.glob("large-small-once-interfere-1-*"))
    assert len(jobs) == 2
    done = command(
        ["report", jobs[0], "--html", "report.html"], ["blame", jobs[1], "--html", "blame.html"],
        ["overlap", *jobs, "--html", "overlap.html"], ["catalog", "ingest", "catalog", *jobs], cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert {"report.html", "blame.html", "overlap.html", "catalog"} <= {path.name for path in tmp_path.iterdir()}


def assert_manual(place, pages):
    """What `man` shows of programs to somebody whose PATH has them has these words."""
    for name, words in pages.items():
        shown = run("man", name, env={**os.environ, "PATH": f"{place / 'bin'}:{os.environ['PATH']}", "MANPATH": ""})
        assert (shown.returncode, shown.stderr) == (0, "")
        assert words in shown.stdout
        assert f"slicewise {slicewise.__version__}" in shown.stdout


def test_the_wheel_brings_man_pages_that_man_finds(wheel, tmp_path):
    need("man")
    pip = (sys.executable, "-I", "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--ignore-installed")
    done = run(*pip, "--prefix", tmp_path, wheel)
    assert done.returncode == 0, done.stderr
    pages = {"slicewise": "slicewise run", "slicewise-blame": "DESCRIPTION", "slicewise-settings": ""}
    assert_manual(tmp_path, pages)


def test_make_install_brings_man_pages_that_man_finds(tmp_path):
    need("man")
    made = run("make", "--no-print-directory", "install-man", "install-native", f"PREFIX={tmp_path}", cwd=ROOT)
    assert made.returncode == 0, made.stderr
    assert_manual(tmp_path, {"slicewise": "slicewise run", "slicewise-collect": "slicewise-collect recover"})
    whole = run("make", "--dry-run", "install", f"PREFIX={tmp_path}", cwd=ROOT).stdout
    assert f"make/man_pages {tmp_path}/share/man" in whole


def test_without_python_or_an_index_make_says_what_the_command_lacks(tmp_path):
    """And has built the library before."""
    (tmp_path / "make").mkdir()
    (tmp_path / "make" / "python").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "make" / "python").chmod(0o755)
    said = run(ROOT / "make" / "command", "build", "true", cwd=tmp_path)
    assert said.returncode == 0
    assert "sudo apt-get install python3 python3-venv" in said.stderr
    (tmp_path / "make" / "python").write_text("#!/bin/sh\nexit 0\n")
    said = run(ROOT / "make" / "command", "build", "false", cwd=tmp_path)
    assert said.returncode == 0
    assert "PIP_NO_INDEX=1 PIP_FIND_LINKS=DIRECTORY make" in said.stderr
    assert run("make", "--dry-run", "native", cwd=ROOT).stdout.count("python") == 0


def test_where_the_sources_lie_is_in_no_package(tmp_path):
    """Compiled in two folders, and stripped as in a package, objects are the same to the byte."""
    made = []
    for folder in ("one", "another/and-a-longer-one"):
        tree = tmp_path / folder
        for part in ("collector", "schema", "store", "turns", "libprofiler", "make", "interface"):
            shutil.copytree(ROOT / part, tree / part)
        shutil.copy(ROOT / "Makefile", tree)
        objects = [
            tree / "build" / "objects" / name for name in ("collector/bpf.o", "collector/main.o", "store/pack.o")
        ]
        done = run("make", "--no-print-directory", *(it.relative_to(tree) for it in objects), cwd=tree)
        assert done.returncode == 0, done.stderr
        for one in objects:
            assert run("objcopy", "--strip-debug", one).returncode == 0
        made.append([one.read_bytes() for one in objects])
    assert made[0] == made[1]


def test_a_missing_compiler_is_named_with_what_installs_it():
    said = run("make/setup", "--check", "native", cwd=ROOT, env={**os.environ, "CC": "/nonexistent"})
    assert said.returncode == 1
    assert "sudo apt-get install build-essential" in said.stderr
    assert "sudo dnf install gcc make" in said.stderr


def test_the_debian_package_has_library_and_collector_and_is_the_same_each_time(tmp_path):
    need("dpkg-deb", "man")
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    packages = []
    for name in ("first", "second"):
        made = run("make", "--no-print-directory", "deb", f"DIST={tmp_path / name}", cwd=ROOT, env=environment)
        assert made.returncode == 0, made.stderr
        packages += (tmp_path / name).glob("slicewise-runtime_*.deb")
    first, second = packages
    assert first.read_bytes() == second.read_bytes()
    run("dpkg-deb", "--extract", first, tmp_path / "root")
    collector = tmp_path / "root" / "usr" / "bin" / "slicewise-collect"
    assert collector.resolve() == tmp_path / "root" / "usr" / "lib" / "slicewise" / "bin" / "slicewise-collect"
    assert run(collector, "--version").stdout == f"slicewise-collect {slicewise.__version__}\n"
    manual = run("man", tmp_path / "root" / "usr" / "share" / "man" / "man1" / "slicewise-collect.1.gz")
    assert "slicewise-collect recover" in manual.stdout
    assert manual.stderr == ""
