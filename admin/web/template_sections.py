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


_TABLES: Final = ("limits", "politeness", "device")
_OWN: Final = (
    (
        "Visits",
        "Who visits a page, and as whom.",
        ("visitor", "rendered_fraction", "rendering", "sheets", "user_agent", "robots"),
    ),
    (
        "Scope",
        "Which links are in scope.",
        ("scope", "hops", "include", "exclude", "embed_hops", "speculative_hops", "redirect_hops"),
    ),
    (
        "Bounds on URLs",
        "These bounds keep a crawl out of endless paths.",
        ("max_url_length", "max_path_segments", "max_path_repeats", "max_links"),
    ),
    ("Headers", "What is sent with every request.", ("headers", "redact_headers")),
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
    placed = {key for _, _, keys in _OWN for key in keys}
    yield from (FieldSection(title, text, keys) for title, text, keys in _OWN)
    definitions = Profile.model_json_schema()["$defs"]
    for table, model in zip(_TABLES, ("Limits", "PolitenessOverrides", "DeviceOverrides"), strict=True):
        keys = tuple(key for key in known if key.startswith(f"{table}."))
        placed.update(keys)
        yield FieldSection(table.capitalize(), definitions[model]["description"], keys)
    if further := tuple(key for key in known if key not in placed):
        yield FieldSection("Further keys", "", further)


SECTIONS: Final = tuple(_sections())
"""All sections, with every key of the profile once."""
