"""What `slicewise run` sets for its command, and what it has mpirun take to other nodes."""

from pathlib import Path

import pytest
from slicewise.running.command import passing_on, profiled_environment


def test_an_existing_preload_is_kept():
    made = profiled_environment({"LD_PRELOAD": "/a.so /b.so"}, [Path("/l.so")], Path("/d/j"), None, ["true"])
    assert made["LD_PRELOAD"] == "/l.so:/a.so /b.so"
    again = profiled_environment(made, [Path("/l.so")], Path("/d/j"), None, ["true"])
    assert again["LD_PRELOAD"] == made["LD_PRELOAD"]
    more = profiled_environment(made, [Path("/l.so"), Path("/t.so")], Path("/d/j"), None, ["true"])
    assert more["LD_PRELOAD"] == "/t.so:/l.so:/a.so /b.so"


@pytest.mark.parametrize(
    ("command", "own", "expected"),
    [
        (["mpirun", "-n", "2", "app"], None, "LD_PRELOAD;SLICEWISE_DIR;SLICEWISE_JOB"),
        (["/opt/bin/mpiexec.openmpi", "app"], "MINE", "MINE;LD_PRELOAD;SLICEWISE_DIR;SLICEWISE_JOB"),
        (["mpirun", "-x", "MINE", "app"], None, None),
        (["./script"], None, None),
    ],
)
def test_open_mpi_is_told_what_to_take_to_other_nodes(command, own, expected):
    name = "OMPI_MCA_mca_base_env_list"
    made = profiled_environment({name: own} if own else {}, [Path("/l.so")], Path("/d/j"), None, command)
    assert made.get(name) == expected


def test_open_mpi_takes_the_settings_of_the_user_to_other_nodes():
    """Ranks there would else take no turns, name their files in full, or count in other slices."""
    mine = {"SLICEWISE_COORDINATE": "fcfs", "SLICEWISE_NAMES": "hash", "SLICEWISE_DIR": "/d", "SLICEWISE_QUIET": ""}
    made = profiled_environment(mine, [Path("/l.so")], Path("/d/j"), 1, ["mpirun", "app"])
    listed = made["OMPI_MCA_mca_base_env_list"].split(";")
    assert sorted(listed) == [
        "LD_PRELOAD", "SLICEWISE_COORDINATE", "SLICEWISE_DIR", "SLICEWISE_JOB", "SLICEWISE_NAMES", "SLICEWISE_SLICE",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "environment", "added"),
    [
        (
            ["mpirun", "-n", "2", "-x", "MINE", "sh"],
            {"SLICEWISE_DIR": "/d"},
            ["-x", "LD_PRELOAD", "-x", "SLICEWISE_DIR"],
        ),
        (["mpirun", "-x", "SLICEWISE_DIR=/e", "-x", "LD_PRELOAD", "sh"], {"SLICEWISE_DIR": "/d"}, []),
        (["mpirun", "-n", "2", "sh", "-x", "MINE"], {}, []),  # the program's own
        (["mpirun", "-n", "2", "sh"], {}, []),
        (["mpirun", "-x", "MINE", "sh"], {"OMPI_MCA_mca_base_env_list": "YOURS"}, []),
        (["sh", "-x", "mine"], {}, []),
    ],
)
def test_where_mpirun_has_options_x_it_gets_ours_in_front_of_them(command, environment, added):
    at = command.index("-x") if added else 0
    assert passing_on(command, environment) == [*command[:at], *added, *command[at:]]
