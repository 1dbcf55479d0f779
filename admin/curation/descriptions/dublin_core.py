"""A description has the fifteen elements of Dublin Core (ISO 15836-1), each with any number of values. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from admin.models.errors import Problem

ELEMENTS: Final = (
    *("title", "creator", "subject", "description", "publisher", "contributor", "date", "type"),
    *("format", "identifier", "source", "language", "relation", "coverage", "rights"),
)
MOST_VALUES: Final = 100
LONGEST_VALUE: Final = 10_000
MOST_TAGS: Final = 100
LONGEST_TAG: Final = 100


def dublin_core_problems(fields: Mapping[str, Sequence[str]]) -> Iterator[Problem]:
    """Yield what is wrong with the fields, each by its name."""
    for name, values in fields.items():
        field = f"dublin_core.{name[:40]}"
        if name not in ELEMENTS:
            yield Problem(
                "dublin_core", f"{name[:40]!r} is no element of Dublin Core; use one of {', '.join(ELEMENTS)}"
            )
        elif len(values) > MOST_VALUES:
            yield Problem(field, f"{name} has {len(values)} values; write at most {MOST_VALUES}")
        elif any(len(value) > LONGEST_VALUE for value in values):
            yield Problem(field, f"a value of {name} has more than {LONGEST_VALUE:,} characters; shorten it")


def tag_problems(tags: Sequence[str]) -> Iterator[Problem]:
    """Yield what is wrong with tags."""
    if len(tags) > MOST_TAGS:
        yield Problem("tags", f"there are {len(tags)} tags; write at most {MOST_TAGS}")
    for tag in tags:
        if not tag.strip() or len(tag) > LONGEST_TAG or not tag.isprintable() or "," in tag:
            yield Problem(
                "tags", f"{tag[:40]!r} is no tag; write 1 to {LONGEST_TAG} characters on a line, without commas"
            )
            return


def tidy_fields(fields: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the fields in the order of the standard, without empty values and repetitions."""
    kept = {
        name: list(dict.fromkeys(text for each in fields.get(name, ()) if (text := each.strip()))) for name in ELEMENTS
    }
    return {name: values for name, values in kept.items() if values}


def tidy_tags(tags: Sequence[str]) -> list[str]:
    """Return the tags without repetitions, in their order."""
    return list(dict.fromkeys(tag.strip() for tag in tags))
