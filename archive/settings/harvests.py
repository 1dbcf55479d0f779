"""The section `[harvests]` says what new domains get, and how harvests are prepared."""

from __future__ import annotations

import re
from typing import Final, Literal

from pydantic import Field, field_validator

from archive.settings.values.base import Listed, Section

type DefaultSeeds = Literal["one", "four"]
_LABEL: Final = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)")


class HarvestSettings(Section):
    """These settings control the admin's domains and harvests."""

    default_template: str = Field(
        "default", min_length=1, description="name of the template that the configurations of new domains use"
    )
    default_seeds: DefaultSeeds = Field(
        "one",
        description="seeds of a new domain: one, http://www.DOMAIN; or four, by http and https, with and without www.",
    )
    default_max_bytes: int = Field(
        1_000_000_000, ge=-1, description="most bytes that a harvest takes of a new domain; -1 is no limit"
    )
    default_max_objects: int = Field(
        -1, ge=-1, description="most objects that a harvest takes of a new domain; -1 is no limit"
    )
    default_max_rate: int = Field(
        100,
        ge=1,
        description="visits in a minute to each host that the configuration of a new domain allows; a rate holds where"
        " the template's politeness allows more",
    )
    tlds: Listed[str] = Field(
        (),
        description="further top-level domains, comma separated, such as test or internal, below which domains may be"
        " added; those of the public suffix list are always known",
    )
    seed_regex: str = Field("^.*$", description="regular expression that the whole of every seed must match")
    alias_seconds: int = Field(
        31_536_000, ge=1, description="an alias that is not renewed expires after this time, and is harvested again"
    )
    alias_warning_seconds: int = Field(
        2_592_000, ge=0, description="an alias that expires within this time is listed as about to expire"
    )

    @field_validator("tlds")
    @classmethod
    def _tlds_are_labels(cls, tlds: tuple[str, ...]) -> tuple[str, ...]:
        names = tuple(name.removeprefix(".").lower() for name in tlds)
        for name in names:
            if not _LABEL.fullmatch(name):
                raise ValueError(f"{name[:80]!r} is no top-level domain; write one label in ASCII, such as test")
        return names

    @field_validator("seed_regex")
    @classmethod
    def _regex_is_a_pattern(cls, text: str) -> str:
        try:
            re.compile(text)
        except re.error as error:
            raise ValueError(f"{text!r} is no regular expression: {error}") from error
        return text
