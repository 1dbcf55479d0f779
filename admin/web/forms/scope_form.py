"""A form asks why URLs are in or out of a scope. The query of the page has its values, so that an answer has a link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from flask import request

from admin.harvests.domains.seeds import split_lines
from admin.harvests.templates.scope_questions import ScopeAnswer, ScopeQuestion, explain_scope
from admin.models.errors import InvalidInput
from admin.models.transaction import Transaction

_LONGEST: Final = 20_000


@dataclass(frozen=True, slots=True)
class AskedScope:
    """A person has asked about URLs, or has just opened the form."""

    urls: str
    """The URLs as they were typed, one on each line."""
    seeds: str
    hops: str
    via: str
    answer: ScopeAnswer | None
    """None when nothing was asked, or when the question could not be answered."""
    problems: tuple[str, ...]

    @property
    def status(self) -> int:
        """Return the status of the page."""
        return 422 if self.problems else 200


def asked_about(opened: Transaction, **scope: Any) -> AskedScope:
    """Return the question in the page's query with its answer. `scope` names the template or the job."""
    urls, seeds, hops, via = (
        request.args.get(name, "")[:_LONGEST].strip() for name in ("urls", "seeds", "hops", "via")
    )
    answer, problems = None, tuple[str, ...]()
    if urls:
        question = ScopeQuestion(urls=_lines(urls), seeds=_lines(seeds), hops=hops or None, via=via, **scope)
        try:
            answer = explain_scope(opened, question)
        except InvalidInput as error:
            problems = tuple(each.message for each in error.problems)
    return AskedScope(urls, seeds, hops, via, answer, problems)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in split_lines(text) if line.strip()]
