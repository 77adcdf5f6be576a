"""The demo on a busy machine: it notices, says so, and measures again. And the page that `make gallery` writes."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLEAR = [{"contended": True, "contention": {"evidence": "."}}, {"confidence": "high", "unknown_because": None}]
NOISY = [{"contended": None, "contention": {"evidence": "Alone they got as little."}}, CLEAR[1]]
UNSURE = [CLEAR[0], {"confidence": "low", "unknown_because": None}]


def loaded(name, monkeypatch):
    """A module of demo/."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"demo/{name}.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def demo(monkeypatch, tmp_path):
    """The demo, whose runs take no time, and a function that says what each attempt's commands will say."""
    module = loaded("interference", monkeypatch)
    module.attempts = []

    def measured(build, is_first):
        module.attempts.append(is_first)
        return module.Places(build, tmp_path / str(len(module.attempts)), tmp_path / "page.html", tmp_path)

    monkeypatch.setattr(module, "_measured", measured)
    monkeypatch.setattr(module, "_compare", lambda places: print("compared", places.profiles.name))

    def run(*answers):
        said = iter(json.dumps(answer) for attempt in answers for answer in attempt)
        monkeypatch.setattr(module, "_said", lambda command: next(said))
        module.main(tmp_path)
        return module.attempts

    return run


def test_a_quiet_machine_is_measured_once(demo, capsys):
    assert demo(CLEAR) == [True]
    assert capsys.readouterr().out == "compared 1\n"


def test_a_busy_machine_is_measured_again(demo, capsys):
    assert demo(NOISY, UNSURE, CLEAR) == [True, False, False]
    out = capsys.readouterr().out
    assert "These runs say too little: Alone they got as little. This machine seems to be busy" in out
    assert "Measuring again (2 of 3)." in out
    assert "These runs say too little: confidence in the answer is low." in out
    assert "Measuring again (3 of 3)." in out
    assert out.endswith("compared 3\n")


def test_it_does_not_go_on_for_ever(demo, capsys):
    assert demo(NOISY, NOISY, NOISY) == [True, False, False]
    assert "The figures below are of the last attempt." in capsys.readouterr().out


def test_the_gallerys_page_is_the_one_that_is_made(monkeypatch):
    gallery = loaded("gallery", monkeypatch)
    committed = ROOT / "docs/gallery"
    assert gallery.page_of_pictures() == (committed / "README.md").read_text(encoding="utf-8")
    assert {path.stem for path in committed.glob("*.webp")} == {picture.name for picture in gallery.PICTURES}
