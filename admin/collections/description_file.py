"""The file `description.json` in the folder of a collection describes the collection for packages of it.

Curation writes the file from the database, so that a package is described where there is no database.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from archive.files import make_folder, replacement

FILE_NAME: Final = "description.json"
_MOST_BYTES: Final = 10_000_000


@dataclass(frozen=True, slots=True)
class CollectionDescription:
    """The description has the Dublin Core fields of a collection, each with its values, and its tags."""

    dublin_core: Mapping[str, Sequence[str]] = field(default_factory=dict)
    tags: Sequence[str] = ()

    def package_facts(self) -> dict[str, Any]:
        """Return the fields of datapackage.json, as WACZ 1.1.1 and Frictionless Data Package v1 name them.

        `dublinCore` is a field of our own with all values, since these specifications have no place for most of them.
        """
        roles = (("creator", "author"), ("publisher", "publisher"), ("contributor", "contributor"))
        facts: dict[str, Any] = {
            "title": self._first("title"),
            "description": "\n\n".join(self.dublin_core.get("description", ())),
            "keywords": [*dict.fromkeys([*self.dublin_core.get("subject", ()), *self.tags])],
            "contributors": [
                {"title": value, "role": role} for name, role in roles for value in self.dublin_core.get(name, ())
            ],
            "sources": [{"title": value} for value in self.dublin_core.get("source", ())],
            "licenses": [_licence(value) for value in self.dublin_core.get("rights", ())],
            "dublinCore": {name: list(values) for name, values in self.dublin_core.items() if values},
        }
        return {name: value for name, value in facts.items() if value}

    def _first(self, name: str) -> str:
        return next(iter(self.dublin_core.get(name, ())), "")


def read_description(folder: Path) -> CollectionDescription:
    """Return the description of the collection in this folder; an empty one without the file. Raises ValueError."""
    path = folder / FILE_NAME
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
        if len(raw) > _MOST_BYTES:
            raise ValueError(f"the file has more than {_MOST_BYTES:,} bytes")
        found = json.loads(raw)
        fields = {str(name): [str(each) for each in values] for name, values in found["dublin_core"].items()}
        return CollectionDescription(fields, [str(each) for each in found["tags"]])
    except FileNotFoundError:
        return CollectionDescription()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} can't be read as a description ({error}); save the description again") from error


def write_description(folder: Path, description: CollectionDescription) -> None:
    """Write the description, durably and in one step. Raises OSError."""
    make_folder(folder)
    said = {"dublin_core": dict(description.dublin_core), "tags": list(description.tags)}
    with replacement(folder / FILE_NAME) as file:
        file.write(json.dumps(said, indent=1, ensure_ascii=False).encode("utf-8", "replace"))


def _licence(value: str) -> dict[str, str]:
    return {"path": value} if value.startswith(("http://", "https://")) else {"title": value}
