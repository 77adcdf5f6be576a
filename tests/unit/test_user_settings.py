"""The user's file of settings: what it may say, what goes before it, and what is said of a mistake in it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from slicewise import settings
from slicewise.config_file import config_file
from slicewise.contract import settings_of_the_library
from slicewise.errors import UserError
from support.command_line import refusal_of, slicewise_command
from support.programs import ROOT


@pytest.fixture
def user_file(tmp_path, monkeypatch):
    """A function that writes the user's file, and has its settings in an environment of its own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tmp_path / "slicewise" / "config.toml"
    file.parent.mkdir()

    def write(text, **environment):
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        settings.apply(environment)
        return environment

    return write


def test_without_a_file_nothing_is_set(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    environment = {}
    settings.apply(environment)
    assert environment == {}


def test_the_file_sets_what_the_environment_does_not(user_file):
    text = 'slice = 0.5\nquiet = true\nsite_ms = 0\ncoordinate = "fcfs"\ndir = "~/profiles"\ncatalog = "/site"\n'
    assert user_file(text, SLICEWISE_QUIET="0") == {
        "SLICEWISE_SLICE": "0.5", "SLICEWISE_QUIET": "0", "SLICEWISE_SITE_MS": "0", "SLICEWISE_COORDINATE": "fcfs",
        "SLICEWISE_DIR": os.path.expanduser("~/profiles"), "SLICEWISE_CATALOG": "/site",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("slcie = 2", "slcie: no such setting; did you mean slice?"),
        ("xyz = 2", "xyz: no such setting; see: slicewise help settings"),
        ("slice = 99", "slice = 99: give 0.1 to 60 seconds"),
        ('site_ms = "x"', "site_ms = x: give 0, or 1 to 1000 milliseconds"),
        ("quiet = 2", "quiet = 2: give 0 or 1"),
        ('coordinate = "first"', "coordinate = first: give off, interfere, fcfs, interrupt, delay, dynamic, set10"),
        ('job = "x"', "job: is a name of one job alone; give --job NAME"),
        ("dir = [1]", 'dir: takes one value, such as dir = "slicewise"'),
        ("slice = ", "a line is, for instance: slice = 2"),
        (f"a = {'[' * 100_000}", "too long or too deep; a line is, for instance: slice = 2"),
        (f"slice = 1{'0' * 5000}", "a line is, for instance: slice = 2"),
        (f"slice = 1{'0' * 400}", "0: give 0.1 to 60 seconds"),
        ("slice = nan", "slice = nan: give 0.1 to 60 seconds"),
        (r'dir = "\u0000"', "dir: holds a zero byte, which no setting can"),
        ('dir = "a\\nb"', "dir: holds a line break, which no setting can"),
        (b"\xff", "cannot be read: is no text"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else None,
)
def test_a_mistake_is_told_with_what_is_right(user_file, text, said):
    user_file(text)
    with pytest.raises(UserError) as raised:
        settings.require()
    assert str(raised.value).startswith(str(config_file()))
    assert str(raised.value).endswith(said)


def test_of_several_mistakes_the_first_is_told_and_what_is_right_holds(user_file):
    assert user_file("slice = 2\nquiet = 7\nslcie = 2") == {"SLICEWISE_SLICE": "2"}
    assert len(settings.mistakes()) == 2
    with pytest.raises(UserError, match=r"quiet = 7: give 0 or 1 \(and 1 more; see: slicewise config\)"):
        settings.require()


@pytest.mark.parametrize("text", ["slice = ", "slcie = 2"])
def test_a_mistake_stops_what_needs_settings_and_nothing_else(user_file, text):
    user_file(text)
    for works in [(), ("--help",), ("--version",), ("list", "--help"), ("help", "settings"), ("completion", "bash")]:
        assert slicewise_command(*works).status == 0, works
    stopped = refusal_of("list", ".")
    assert stopped.startswith(f"slicewise: {config_file()}: ")
    shown = slicewise_command("config").text
    assert settings.mistakes()[0] in shown
    assert "length of a slice in seconds" in shown


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda file: file.symlink_to(file)])
def test_what_is_no_ordinary_file_is_a_mistake_too(user_file, make):
    make(config_file())
    settings.apply({})
    assert settings.mistakes()[0].startswith(f"{config_file()}: cannot be read: ")
    assert slicewise_command("--help").status == 0


def test_config_says_what_holds_and_why(user_file, tmp_path):
    user_file("slice = 2")
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "SLICEWISE_GROUP": "1"}
    command = [sys.executable, "-m", "slicewise", "config", "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    sources = {one["key"]: (one["value"], one["source"]) for one in told["settings"]}
    assert told["file"] == str(config_file())
    assert sources["slice"] == ("2", told["file"])
    assert sources["group"] == ("1", "environment")
    assert sources["site_ms"] == ("10", "default")


def test_export_has_what_the_file_alone_sets(user_file, tmp_path):
    """As a shell reads it, whatever is in a value."""
    user_file('slice = 2\nsite_ms = 20\nnames_key = "it\'s $HOME `id`; \\"x\\""\nslcie = 3\n')
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "SLICEWISE_SITE_MS": "5"}
    command = [sys.executable, "-m", "slicewise", "config", "--export"]
    done = subprocess.run([*command, "env"], env=environment, capture_output=True, text=True, check=True)
    key = 'it\'s $HOME `id`; "x"'
    assert done.stdout.splitlines() == ["SLICEWISE_SLICE=2", f"SLICEWISE_NAMES_KEY={key}"]
    assert done.stderr.endswith("slcie: no such setting; did you mean slice?\n")
    done = subprocess.run([*command, "sh"], env=environment, capture_output=True, text=True, check=True)
    script = f'{done.stdout}\nprintf "%s|%s|%s" "$SLICEWISE_SLICE" "$SLICEWISE_SITE_MS" "$SLICEWISE_NAMES_KEY"'
    shown = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert shown.stdout == f"2|5|{key}"
    nowhere = {**environment, "XDG_CONFIG_HOME": "/nonexistent"}
    without = subprocess.run([*command, "sh"], env=nowhere, capture_output=True, check=False)
    assert (without.returncode, without.stdout) == (0, b"")


def test_help_settings_has_every_setting_of_the_one_list():
    told = slicewise_command("help", "settings").text
    listed = [line for line in told.splitlines() if line.startswith("SLICEWISE_")]
    assert listed == [*settings_of_the_library(), *settings.OWN_SETTINGS]
    for row in settings_of_the_library().values():
        assert row["meaning"] in " ".join(told.split())


@pytest.mark.parametrize("topic", [(), ("overlap",), ("catalog", "list")])
def test_help_is_the_commands_own(topic):
    assert slicewise_command("help", *topic).text == slicewise_command(*topic, "--help").text


def test_the_library_leaves_what_the_command_line_alone_reads():
    """A catalog in the file, or in the site's environment, is no mistake of every profiled program."""
    left = re.findall(r'^ANALYZER_SETTING\("(\w+)"\)', (ROOT / "schema/settings.def").read_text(), re.MULTILINE)
    assert left == list(settings.OWN_SETTINGS)


def test_servers_that_are_given_are_there_for_one_command(tmp_path, monkeypatch):
    monkeypatch.delenv(settings.SERVERS, raising=False)
    refusal_of("report", "4716", "--servers", tmp_path)
    assert settings.servers_of_site() == []
    monkeypatch.setenv(settings.SERVERS, "/site:/more")
    slicewise_command("report", "4716", "--servers", tmp_path)
    assert settings.servers_of_site() == [Path("/site"), Path("/more")]
    at_noon = Path("/kept/12:00:00")
    with settings.with_servers([at_noon]):
        assert settings.servers_of_site() == [at_noon]
