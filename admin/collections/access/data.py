"""These models are the data of access rules, for people and programs."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from admin.models.operation import InputModel, OutputModel, Page
from archive.access_rules import Access

LONGEST_URL: Final = 9_000
_MOST_DAYS: Final = 99_999


class PeriodInput(InputModel):
    """The period has the captures of some dates; without any of its fields, it has all captures."""

    before: str = Field("", max_length=40)
    """Only captures before this date: 4 to 14 digits, or such as 2026-01-31."""
    after: str = Field("", max_length=40)
    """Only captures after this date."""
    newer_days: float | None = Field(None, ge=0, le=_MOST_DAYS, allow_inf_nan=False)
    """Only captures of the last days. The days are counted anew whenever somebody asks for a capture."""
    older_days: float | None = Field(None, ge=0, le=_MOST_DAYS, allow_inf_nan=False)
    """Only captures that are older than so many days."""


class AccessRuleCreation(PeriodInput):
    """The input describes a new rule. A rule for the same URLs and dates is replaced."""

    url: str = Field(max_length=LONGEST_URL)
    """https://example.org/news/ stands for all URLs that begin so, and *.example.org for a domain."""
    access: Access
    """exclude (readers don't learn of the captures), block (their content is answered with 451), allow, or
    allow_ignore_embargo."""
    is_exact: bool = False
    """The rule is for this URL alone."""


class AccessRuleChange(PeriodInput):
    """The rule gets these values, all of them. Without a URL, it keeps its URLs."""

    url: str = Field("", max_length=LONGEST_URL)
    """https://example.org/news/ stands for all URLs that begin so, and *.example.org for a domain."""
    access: Access
    """exclude, block, allow, or allow_ignore_embargo."""
    is_exact: bool = False
    """The rule is for this URL alone."""
    edition: int | None = None
    """The edition of the rules that was read before."""


class AccessDefaultChange(PeriodInput):
    """The input says what holds for captures without a rule. The dates are those of the embargo."""

    access: Access
    """allow, allow_ignore_embargo, block or exclude."""
    edition: int | None = None
    """The edition of the rules that was read before."""


class AccessListUpload(InputModel):
    """The input is an access list of pywb (.aclj)."""

    text: str
    """One rule on each line, such as `org,example)/a - {"access": "block"}`. Lines with # or ! in front are skipped."""


class PeriodView(OutputModel):
    """The period has the captures of some dates."""

    before: str = ""
    """14 digits; empty for no bound."""
    after: str = ""
    newer_days: float | None = None
    older_days: float | None = None


class AccessRuleView(PeriodView):
    """The rule decides which captures readers may see."""

    id: str
    """The id tells the rule from the others of the collection. It changes with the URLs and dates of the rule."""
    url: str
    """The URL from which the rule was made; empty for a rule of another program."""
    key: str
    """The URLs whose keys begin so are those of the rule."""
    is_exact: bool
    access: Access
    user: str
    """A rule for one user of pywb is kept, and never applied."""
    edition: int
    """The edition of all rules of the collection."""


class AccessView(PeriodView):
    """The view has what holds for captures without a rule; the dates are those of the embargo."""

    access: Access
    rules: int
    """How many rules there are."""
    edition: int
    """The edition of the rules; another one after each change."""


class AccessRulePage(Page[AccessRuleView]):
    """The page is a part of the list of rules, the longest first: the first rule that fits decides."""


class AccessDecision(OutputModel):
    """The decision says what holds for one capture."""

    url: str
    date: str
    """14 digits."""
    access: Access
