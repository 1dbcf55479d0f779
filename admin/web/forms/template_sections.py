"""The fields of a template stand in sections, with units behind numbers. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from admin.harvests.templates.form_fields import known_fields
from frontier.definition.job import Profile


@dataclass(frozen=True, slots=True)
class FieldSection:
    """A section has fields of one subject."""

    title: str
    description: str
    keys: tuple[str, ...]
    is_first: bool = False
    """The section has the settings that curators change first; the others are behind their titles."""


_FIRST: Final = (
    *("visitor", "scope", "hops", "include", "exclude", "robots"),
    *("limits.pages", "limits.bytes", "limits.seconds", "politeness.min_delay_seconds", "politeness.per_host"),
)
_TABLES: Final = {
    "limits": "Further limits",
    "seen": "URLs that are taken for the same one",
    "politeness": "Further politeness",
    "device": "Device",
    "revisit": "Continuous crawl",
}
_OWN: Final = (
    (
        "Browsers",
        "How browsers open pages, and what they do there.",
        (
            *("rendered_fraction", "engine", "rendering", "behaviors", "behavior_seconds", "behavior_scripts"),
            *("second_device", "service_workers", "browser_storage", "browser_cache", "soft_404_check"),
            *("browser_profile", "logins"),
        ),
    ),
    (
        "Links out of scope, and bounds on URLs",
        "How far a crawl follows what lies out of scope, and what keeps it out of endless paths.",
        (
            *("rules", "embed_hops", "speculative_hops", "guessed_links", "cookies", "redirect_hops"),
            *("max_url_length", "max_path_segments", "max_path_repeats", "max_links"),
        ),
    ),
    ("Single sites", "Other settings for some of the sites.", ("sheets", "least_delays", "groups")),
    ("Requests", "What is sent with every request.", ("user_agent", "user_agent_contact", "headers", "redact_headers")),
)
_UNITS: Final = {
    "seconds": "seconds",
    "hops": "links",
    "bytes": "bytes",
    "pages": "pages",
    "urls": "URLs",
    "length": "characters",
    "segments": "segments",
    "links": "links",
    "fraction": "of all pages, 0 to 1",
    "factor": "times the duration",
    "host": "visits",
    "failures": "failures",
    "retries": "retries",
    "repeats": "repeats",
}
"""Units by the last word of a key."""


def unit_of(key: str) -> str:
    """Return the unit of a number; empty for a key that has none."""
    return _UNITS.get(key.rpartition(".")[2].rpartition("_")[2], "")


def _sections() -> Iterator[FieldSection]:
    known = [each.key for each in known_fields()]
    placed = {*_FIRST, *(key for _, _, keys in _OWN for key in keys)}
    yield FieldSection("Settings", "", _FIRST, is_first=True)
    yield from (FieldSection(title, text, keys) for title, text, keys in _OWN)
    definitions = Profile.model_json_schema()["$defs"]
    for (table, title), model in zip(
        _TABLES.items(), ("Limits", "SeenRules", "PolitenessOverrides", "DeviceOverrides", "RevisitRules"), strict=True
    ):
        keys = tuple(key for key in known if key.startswith(f"{table}.") and key not in placed)
        placed.update(keys)
        yield FieldSection(title, definitions[model]["description"], keys)
    if further := tuple(key for key in known if key not in placed):
        yield FieldSection("Further settings", "", further)


SECTIONS: Final = tuple(_sections())
"""All sections, with every key of the profile once; a key that the profile gets later is among the further ones."""
