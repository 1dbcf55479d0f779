"""What a harvest job is: seeds, profile and limits. Frozen, validated data; opens nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from archive.dates import Micros, now_micros
from archive.sections import NAME_PATTERN
from archive.url import UrlError, canonical

type ScopeKind = Literal["page", "prefix", "host", "domain", "any"]
"""What the seeds span: the very pages; everything below their folder; their hosts; their registered domains."""
type VisitorKind = Literal["plain", "chromium", "mixed"]

_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:(//|[^0-9])")


class JobError(ValueError):
    """A seed, profile or job that can't be used; the message names it, its value and the remedy in one line."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Limits(_Frozen):
    """Where a job ends before its frontier is empty. None is no limit; a limit of a running job can be raised."""

    pages: int | None = Field(None, ge=1, description="visits of the whole job that ended well, embeds included")
    bytes: int | None = Field(None, ge=1, description="bytes fetched; visits going on when it is reached still end")
    seconds: float | None = Field(None, gt=0, description="time at work; a gap of over a minute is not counted")
    host_pages: int | None = Field(None, ge=1, description="visits of one host that ended well; then it is set aside")


class Manner(_Frozen):
    """A job's own politeness; what is None follows the settings of the same name."""

    delay_factor: float | None = Field(None, ge=0)
    min_delay_seconds: float | None = Field(None, ge=0)
    max_delay_seconds: float | None = Field(None, ge=0)
    max_crawl_delay_seconds: float | None = Field(None, ge=0)
    per_host: int | None = Field(None, ge=1, le=64)
    host_failures: int | None = Field(None, ge=1)
    max_retries: int | None = Field(None, ge=0)
    retry_seconds: float | None = Field(None, ge=0)
    max_retry_seconds: float | None = Field(None, ge=0)


class Profile(_Frozen):
    """How a job harvests: one file that can be kept, compared and used again."""

    visitor: VisitorKind = Field("plain", description="plain without JavaScript, chromium with it, mixed for both")
    rendered_fraction: float = Field(0.1, ge=0, le=1, description="share of pages that `mixed` visits with chromium")
    scope: ScopeKind = Field("host", description="what the seeds span: page, prefix, host, domain or any")
    hops: int | None = Field(None, ge=0, description="links followed away from a seed; none is no limit")
    include: tuple[str, ...] = Field((), description="regular expressions; URLs in which one is found are in scope")
    exclude: tuple[str, ...] = Field((), description="regular expressions; URLs in which one is found are rejected")
    embed_hops: int = Field(2, ge=0, description="embeds in a row that may lie out of scope")
    speculative_hops: int = Field(1, ge=0, description="guessed links in a row that may lie out of scope")
    redirect_hops: int = Field(5, ge=0, description="redirects in a row that may lie out of scope")
    max_url_length: int = Field(4096, ge=16, description="characters of the longest URL")
    max_path_segments: int = Field(20, ge=1, description="path segments of the deepest URL")
    max_path_repeats: int = Field(2, ge=1, description="times in a row that a run of path segments may occur")
    max_links: int = Field(6000, ge=1, description="links taken from one page; the rest is rejected")
    limits: Limits = Limits()
    politeness: Manner = Manner()
    robots: Literal["obey", "ignore"] | None = Field(None, description="overrides the setting frontier.robots")
    user_agent: str = Field("", description="User-Agent; empty follows the setting archive.user_agent")
    behaviours: tuple[str, ...] = Field((), description="what ghosts do on a page; empty leaves it to the visitor")

    @field_validator("include", "exclude")
    @classmethod
    def _compiles(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is no regular expression: {error}") from error
        return patterns


class Seed(_Frozen):
    """A URL to start from, in canonical form."""

    url: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """The seed that a person wrote. Raises JobError, naming it and what to write instead."""
        try:
            return cls(url=canonical(text))
        except UrlError as error:
            raise JobError(f"seed {_shown(text)} can't be used: {_why(text, error)}") from error


class Job(_Frozen):
    """One harvest, run once. Its name is unique in the fleet: asked for again, it resumes."""

    name: str = Field(pattern=NAME_PATTERN)
    collection: str = Field(pattern=NAME_PATTERN)
    seeds: tuple[Seed, ...] = Field(min_length=1)
    profile: Profile = Profile()
    created: Micros = Field(default_factory=now_micros)

    @classmethod
    def of(cls, name: str, collection: str, seeds: Iterable[str], profile: Profile | None = None) -> Self:
        """A new job from seeds as people write them. Raises JobError in one line for the first thing wrong."""
        parsed = tuple(dict.fromkeys(Seed.parse(text) for text in seeds))
        if not parsed:
            raise JobError(f"job {name} has no seeds; name at least one URL such as http://example.org/")
        try:
            return cls(name=name, collection=collection, seeds=parsed, profile=profile or Profile())
        except ValidationError as error:
            raise JobError(f"job {name}: {first_problem(error)}") from error


def read_seeds(lines: Iterable[str]) -> Iterator[tuple[int, Seed | JobError]]:
    """Seeds of a text file, one per line, as a stream: line number from 1, and the seed or what is wrong with it.

    Empty lines and lines that begin with # are passed over; a byte order mark is no part of the first seed.
    """
    for number, line in enumerate(lines, 1):
        text = line.lstrip("\ufeff").strip()
        if text and not text.startswith("#"):
            try:
                yield number, Seed.parse(text)
            except JobError as error:
                yield number, error


def first_problem(error: ValidationError) -> str:
    """Field, value and reason of the first thing that validation found, in one line."""
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    return f"{name} = {_shown(str(first['input']))} can't be used: {first['msg'].removeprefix('Value error, ')}"


def _shown(text: str) -> str:
    return repr(text if len(text) <= 200 else text[:200] + "…")


def _why(text: str, error: UrlError) -> str:
    bare = text.strip().lstrip("/")
    if bare and "\0" not in bare and not _SCHEME.match(bare):
        return f"it has no scheme; write http://{bare[:200]}{'' if '/' in bare else '/'}"
    return f"{error}; write a URL such as http://example.org/"
