"""What `slicewise run` costs on a node where many users have run jobs, each with a directory of segments."""

import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from support.many_users import FIRST_USER, used_by_many
from support.programs import BUILD, COLLECTOR, Command, need

USERS = 200
CALL = re.compile(r"^\d+ +(\w+)\(")
# The collector looks at /proc as often as there is time: what it asks there says nothing of users.
OF_USERS = re.compile(r"slicewise-\d")
STARTS = {"clone", "clone3", "fork", "vfork", "execve"}
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for other users' directories")


def calls(command: Command, segments: str, folder: Path) -> Counter[str]:
    """System calls of a command and of all that it starts, by name: those that begin something, and those that name a
    user's directory.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLICEWISE_", "LD_PRELOAD"))}
    ours = {"SLICEWISE_SEGMENT_DIR": segments, "SLICEWISE_DIR": str(folder / "profiles")}
    trace = ["strace", "-f", "-qq", "-s", "256", "-e", "signal=none", "-o", folder / "calls"]
    subprocess.run([*trace, *command], env=kept | ours, cwd=folder, check=True, capture_output=True)
    lines = (folder / "calls").read_text(errors="replace").splitlines()
    made = ((match[1], line) for line in lines if (match := CALL.match(line)))
    return Counter(name for name, line in made if name in STARTS or OF_USERS.search(line))


def added(command: Command, folder: Path) -> Counter[str]:
    """What a command takes more where many users have directories."""
    need("strace")
    with used_by_many(0) as segments:
        calls(command, segments, folder)  # once for what is only done the first time
        alone = calls(command, segments, folder)
    with used_by_many(USERS) as segments:
        calls(command, segments, folder)
        return calls(command, segments, folder) - alone


def test_other_users_directories_cost_root_a_look_each(tmp_path: Path) -> None:
    """In the processes that look there: the node's collector, who asks for whom to recover, and the one who does."""
    more = added([BUILD / "bin" / "slicewise", "run", "--job", "one", "--", "cat", "/dev/null"], tmp_path)
    assert not STARTS & set(more), more
    assert sum(more.values()) < 3.5 * USERS, more


def test_other_users_directories_cost_a_user_one_look(tmp_path: Path) -> None:
    """In what `slicewise run` asks at its end."""
    need("setpriv")
    user = ["setpriv", f"--reuid={FIRST_USER - 1}", f"--regid={FIRST_USER - 1}", "--clear-groups"]
    with used_by_many(0) as reached_by_all:
        collector = shutil.copy(COLLECTOR, reached_by_all)
        more = added([*user, collector, "recover", reached_by_all], tmp_path)
    assert not STARTS & set(more), more
    assert sum(more.values()) < 1.5 * USERS, more
