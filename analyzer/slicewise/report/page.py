"""One self-contained HTML page out of sentences, charts and tables.

The page makes no network request and forbids itself any: its content security policy names the two scripts that it runs
by their hashes. Plotly and the figures travel gzipped in it; names reach the page through Jinja's escaping or inside
those figures alone.
"""

import base64
import gzip
import hashlib
import json
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from slicewise import __version__
from slicewise.charts.figure import Figure
from slicewise.errors import mended_by
from slicewise.report.chart_words import in_words
from slicewise.report.marking import TermLinks, kept_together, term_of, terms_in, with_code
from slicewise.report.over_time import OverTime, TimeAxis, Timed, on_clock
from slicewise.report.tables import Table
from slicewise.text import safe_text

MOST_NAME_LETTERS = 120
MOST_NAMED_JOBS = 3
SCRIPTS = ("terms", "tables", "flame", "selection", "time", "page")


@dataclass(frozen=True)
class Section:
    """A part of a page: what it shows (heading), says (text), chart, flame graph (charts/flame.py), tables, and
    what stands behind them (note)."""

    heading: str
    text: Sequence[str] = ()
    chart: Figure | None = None
    flame: dict[str, Any] | None = None
    tables: Sequence[Table] = ()
    note: str = ""
    is_linked: bool = False  # its x axis is the clock, shared with all other linked charts
    chart_id: str = ""  # by which scripts find the chart, and the note
    note_id: str = ""


@dataclass(frozen=True)
class Fact:
    """A figure at the head of a page: name, what it is, its colour, how sure it is, and its id for scripts. over_time:
    what it is of a chosen time, on the page's axis."""

    name: str
    said: str
    colour: str = ""
    note: str = ""
    id: str = ""
    over_time: OverTime | None = None


@dataclass(frozen=True)
class Step:
    """Something that the reader can do next: what for, and the command."""

    said: str
    command: str = ""


def command(*parts: object) -> str:
    """A command of ours as it is typed where this one was: what lies below that directory is named from there."""
    return shlex.join(["slicewise", *(str(_from_here(part)) for part in parts)])


def _from_here(part: object) -> object:
    here = Path.cwd()
    return part.relative_to(here) if isinstance(part, Path) and part.is_relative_to(here) else part


@dataclass(frozen=True)
class Page:
    """A page: title, opening sentences (the first is the headline), a verdict where one is due, facts, sections, what
    could not be seen, and what to do next.

    selection: what templates/selection.js needs to say figures of a chosen time. axis: that of figures that are told of
    a chosen time (over_time of facts and of cells).
    """

    title: str
    kicker: str
    sentences: Sequence[str]
    verdict: str = ""
    facts: Sequence[Fact] = ()
    sections: Sequence[Section] = ()
    unseen: Sequence[str] = field(default_factory=list)
    selection: dict[str, Any] | None = None
    steps: Sequence[Step] = ()
    axis: TimeAxis | None = None

    def texts(self) -> list[str]:
        """All that it says in words, but for names of jobs and files in tables."""
        facts = [text for fact in self.facts for text in (fact.name, fact.note)]
        sections = [text for section in self.sections for text in (*section.text, section.note)]
        headings = [column.heading for section in self.sections for table in section.tables for column in table.columns]
        steps = [step.said for step in self.steps]
        return [*self.sentences, self.verdict, *facts, *sections, *headings, *steps, *self.unseen]


def page_path(profile: Path, name: str) -> Path:
    """Where a page is written that nobody named a place for: beside the job's directory, as NAME.html; of a job that
    lies in a catalog alone, here."""
    directory = profile.resolve().parent if profile.is_file() else profile.resolve()
    safe_name = re.sub(r"[^\w.@+=-]+", "_", name)[:MOST_NAME_LETTERS]
    path = directory.parent / f"{safe_name}.html"
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def joined_names(jobs: Iterable[str]) -> str:
    """Several jobs in the name of a page: "a-b-c-and-2-more"."""
    names = list(jobs)
    more = len(names) - MOST_NAMED_JOBS
    return "-".join(names[:MOST_NAMED_JOBS]) + (f"-and-{more}-more" if more > 0 else "")


def write_page(page: Page, path: Path) -> Path:
    """Write the page to `path`, which it returns. Raises UserError where that cannot be."""
    with mended_by(f"{path}: the page cannot be written", "name another place with --html FILE"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(html_of(page), encoding="utf-8")
    return path


def html_of(page: Page) -> str:
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("slicewise.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_visible,
    )
    links, timed = TermLinks(), Timed()
    templates.filters |= {
        "kept_together": kept_together,
        "with_code": with_code,
        "with_terms": links.with_terms,
        "of_a_new_part": links.of_a_new_part,
        "term_id": lambda heading: term.id if (term := term_of(heading)) else "",
        "number_of": timed.number_of,
        "on_clock": on_clock,
        "in_words": in_words,
        "packed_sums": lambda _: packed(timed.record(page.axis)),
    }
    script = "".join(_template_text(templates, f"{name}.js") for name in SCRIPTS)
    plotly = packed_plotly()
    charts = [section.chart for section in page.sections if section.chart is not None]
    flames = [section.flame for section in page.sections if section.flame is not None]
    return templates.get_template("page.html").render(
        page=page,
        terms=terms_in(page.texts()),
        version=__version__,
        style=Markup(_template_text(templates, "page.css")),
        script=Markup(script),
        script_hashes=[hash_of(script.encode()), hash_of(gzip.decompress(plotly))],
        plotly=in_base64(plotly),
        figures=packed([chart.plain() for chart in charts]),
        flames=packed(flames),
        selection=packed(page.selection),
    )


def fragment_of(page: Page) -> str:
    """The page's sentences, figures and what was not seen, as HTML for a place within another page, such as a notebook:
    no script, no style sheet, and every name is text."""

    def lines(form: str, texts: Iterable[str]) -> Markup:
        return Markup("").join(Markup(form).format(kept_together(safe_text.visible(text))) for text in texts)

    cells = "<td style='text-align: left; vertical-align: top; padding-right: 1.5em'>"
    facts = [(fact.name, f"{fact.said}{f' ({fact.note})' if fact.note else ''}") for fact in page.facts]
    parts = [
        lines("<p style='color: gray'>{}</p>", [page.kicker]),
        lines("<p><strong>{}</strong></p>", page.sentences[:1]),
        lines("<p>{}</p>", [*page.sentences[1:], *([page.verdict] if page.verdict else [])]),
        Markup("<table><tr>{}</tr><tr>{}</tr></table>").format(
            lines(f"{cells}{{}}</td>", [name for name, _ in facts]),
            lines(f"{cells}<strong>{{}}</strong></td>", [said for _, said in facts]),
        )
        if facts
        else Markup(""),
        Markup("<details><summary>What was seen, and what was not</summary><ul>{}</ul></details>").format(
            lines("<li>{}</li>", page.unseen)
        )
        if page.unseen
        else Markup(""),
    ]
    return str(Markup("<div class='slicewise'>{}</div>").format(Markup("").join(parts)))


def _visible(value: Any) -> Any:
    """What an expression of the template gives: text that is not our own markup is made visible, then escaped."""
    return safe_text.visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def packed(value: Any) -> str:
    """JSON gzipped, in a form that is safe inside a script element whatever it holds."""
    text = json.dumps(safe_text.visible_in(value), separators=(",", ":"))
    return in_base64(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def in_base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def hash_of(script: bytes) -> str:
    """A script's hash as a content security policy names it."""
    return f"sha256-{in_base64(hashlib.sha256(script).digest())}"


def _template_text(templates: jinja2.Environment, name: str) -> str:
    assert templates.loader is not None
    return templates.loader.get_source(templates, name)[0]


@cache
def packed_plotly() -> bytes:
    return resources.files("slicewise.report").joinpath("vendor/plotly-cartesian.min.js.gz").read_bytes()
