"""The site's hook for lists: what Python-Markdown needs so that it makes the same lists of our pages as GitHub."""

from __future__ import annotations

import importlib.util

from support.programs import ROOT

SPEC = importlib.util.spec_from_file_location("site_lists", ROOT / "packaging/site/lists.py")
assert SPEC is not None
assert SPEC.loader is not None
SITE_LISTS = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(SITE_LISTS)


def given(*lines: str) -> list[str]:
    return SITE_LISTS.on_page_markdown("\n".join(lines)).split("\n")


def test_what_belongs_to_an_item_stays_with_it():
    assert given("- one", "  more", "  - inner", "", "after", "    code") == [
        "- one", "    more", "    - inner", "", "after", "    code",
    ]  # fmt: skip


def test_a_list_needs_no_empty_line_before_it():
    assert given("Not counted:", "- one", "- two") == [
        "Not counted:",
        "",
        "- one",
        "- two",
    ]


def test_blocks_of_code_stay_as_they_are():
    block = ["```sh", "- no item", "  indented", "```"]
    assert given(*block) == block
    assert given("    - an indented block is no list") == ["    - an indented block is no list"]
