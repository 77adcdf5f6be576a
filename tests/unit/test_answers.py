"""Answers in Python and in notebooks: the notebook of the documentation runs, and names stay text."""

import ast
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import slicewise
from slicewise import answers
from support.jobs import write_competing_jobs, write_job

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "notebook.ipynb"
NASTY = "<img src=x onerror=alert(1)>"


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.found.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> Tags:
    tags = Tags()
    tags.feed(html)
    return tags


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """The value of the cell's last line, as Jupyter would show it; None of a cell that ends in a statement."""
    parsed = ast.parse(source)
    last = parsed.body.pop() if isinstance(parsed.body[-1], ast.Expr) else None
    exec(compile(parsed, str(NOTEBOOK), "exec"), names)
    return eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), names) if last else None


def write_jobs(directory: Path, other: str = "48213") -> None:
    write_competing_jobs(directory, other, "48190")
    write_job(directory / "alone-48190", 12, 12, {range(2000, 2039): 101.0}, program="/opt/postproc")


def test_the_notebook_of_the_documentation_runs(tmp_path, monkeypatch):
    write_jobs(tmp_path / "slicewise")
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    names: dict[str, Any] = {}
    shown = [run_cell(source, names) for source in code]
    job, rates, answer, table, both, saved = shown[1:]
    assert "Job 48190" in read(job._repr_html_()).text
    assert rates["written"].max() > 0
    assert "because of 48213" in read(answer._repr_html_()).text
    assert str(answer).startswith("48190 (postproc) took ")
    assert table["neighbour"].to_list()[0] == "48213"
    assert table["seconds"][0] > 0
    assert "While both wrote" in read(both._repr_html_()).text
    assert saved.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert all(cell["outputs"] == [] for cell in notebook["cells"] if cell["cell_type"] == "code")


def test_an_answer_says_what_the_command_says_and_names_stay_text(tmp_path):
    write_jobs(tmp_path, NASTY)
    for answer in (
        answers.report(tmp_path / "48190"),
        answers.blame(tmp_path / "48190", alone=[tmp_path / "alone-48190"]),
        answers.overlap([tmp_path / NASTY, tmp_path / "48190"]),
        slicewise.read(tmp_path / NASTY),
    ):
        tags = read(answer._repr_html_())
        assert not tags.found - {
            "div", "p", "strong", "table", "tr", "th", "td", "caption", "details", "summary", "ul", "li",
        }  # fmt: skip
        if isinstance(answer, answers.Answer):
            told = tags.text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NON-BREAKING HYPHEN}", "-")
            told = told.replace("\N{WORD JOINER}", "")
            assert [sentence for sentence in answer.page.sentences if sentence not in told] == []
        else:
            assert NASTY in tags.text


def test_what_cannot_be_read_or_written_is_refused(tmp_path):
    with pytest.raises(slicewise.UserError, match="nowhere"):
        answers.blame(tmp_path / "nowhere")
    write_jobs(tmp_path)
    with pytest.raises(slicewise.UserError, match="cannot be written"):
        answers.report(tmp_path / "48190").save("/dev/null/x.html")
