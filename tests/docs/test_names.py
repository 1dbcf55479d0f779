"""Each setting, environment variable, module and link that the documentation names exists."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from support.web.doc_pages import TOP, code_spans, without_blocks, written_pages

from archive.settings.load import names
from frontier.definition.job import Limits, PolitenessOverrides

PAGES = written_pages()
SETTINGS = {name for name, _, _ in names()}
PROFILE_KEYS = {f"limits.{key}" for key in Limits.model_fields} | {
    f"politeness.{key}" for key in PolitenessOverrides.model_fields
}
FIRST_WORDS = {name.partition(".")[0] for name in SETTINGS | PROFILE_KEYS} | {"dedupdb", "bench"}
DOTTED = re.compile(rf"(?:{'|'.join(sorted(FIRST_WORDS))})(?:\.\w+)+")


@cache
def is_module(name: str) -> bool:
    """Return whether a dotted name is a module of ours, or a function or class in one."""
    path = TOP.joinpath(*name.split("."))
    if path.with_suffix(".py").is_file() or (path / "__init__.py").is_file():
        return True
    source = path.parent.with_suffix(".py")
    return source.is_file() and f" {path.name}" in source.read_text("utf-8")


def is_known(name: str) -> bool:
    file_name = (TOP / name).suffix in {".txt", ".json", ".toml"}
    return name in SETTINGS or name in PROFILE_KEYS or is_module(name) or file_name


def test_each_dotted_name_is_a_setting_a_profile_key_or_a_module() -> None:
    spans = ((page, span) for page in PAGES for span in code_spans(page.read_text("utf-8")))
    named = {(page, found[0]) for page, span in spans if (found := DOTTED.match(span))}

    assert {(page, name) for page, name in named if not is_known(name)} == set()


def test_each_environment_variable_of_a_setting_is_one() -> None:
    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    variables = re.findall(r"GHOSTFLEET_([A-Z]+)__([A-Z_]+)", text)

    assert {pair for pair in variables if ".".join(pair).lower() not in SETTINGS} == set()


@cache
def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", without_blocks(page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_each_link_leads_to_a_file_and_a_heading() -> None:
    broken = []
    for page in PAGES:
        links = re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", without_blocks(page.read_text("utf-8")))
        for path, anchor in links:
            target = (page.parent / path).resolve() if path else page
            if not target.exists() or (anchor and anchor not in anchors(target)):
                broken.append(f"{page}: {path}#{anchor}")
    assert broken == []
