"""Texts of a page as HTML: numbers kept with their units, and our own terms as links to what they mean."""

import re
from collections.abc import Iterable

from markupsafe import Markup, escape

from slicewise.text import glossary, safe_text
from slicewise.text.glossary import Term

UNIT_AFTER_NUMBER = re.compile(r"(\d) (?=(?:[KMGTP]iB(?:/s)?|B|[mun]?s|min|h|%)(?:\W|$))")
INTERVAL = re.compile(r"\[[+-]?[\d.,]+(?:-| to )[+-]?[\d.,]+(?: \w+)?\]")


def kept_together(text: str) -> str:
    """The text with numbers and their units on one line, and intervals: a browser begins a new one behind a hyphen
    between digits, too."""

    def unbroken(interval: re.Match[str]) -> str:
        between = re.sub(r"(?<=\d)-", "\N{NON-BREAKING HYPHEN}", interval.group())
        return between.replace(" ", "\N{NO-BREAK SPACE}")

    return UNIT_AFTER_NUMBER.sub("\\1\N{NO-BREAK SPACE}", INTERVAL.sub(unbroken, text))


def terms_in(texts: Iterable[str]) -> list[Term]:
    forms = glossary.by_form()
    found = {forms[match.lower()].name for text in texts for match in glossary.pattern().findall(text)}
    return [term for term in glossary.TERMS if term.name in found]


def term_of(heading: str) -> Term | None:
    return glossary.by_form().get(heading.lower())


def with_code(text: str) -> Markup:
    """The text as HTML, with what stands between backticks as code."""
    parts = [escape(part) for part in text.split("`")]
    return Markup("").join(Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts))


class TermLinks:
    """Marks terms where they come up first in a part of a page."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def of_a_new_part(self, heading: str) -> str:
        self._told.clear()
        return heading

    def with_terms(self, text: str) -> Markup:
        """The text as HTML, made visible and escaped."""
        text = kept_together(safe_text.visible(text))
        parts, end = [], 0
        for match in glossary.pattern().finditer(text):
            term = glossary.by_form()[match.group().lower()]
            if term.name in self._told:
                continue
            self._told.add(term.name)
            link = Markup('<a class="term" href="#{}" data-term="{}">{}</a>').format(term.id, term.id, match.group())
            parts += [escape(text[end : match.start()]), link]
            end = match.end()
        return Markup("").join([*parts, escape(text[end:])])
