"""A message of a broker names one URL, in the form of Umbra or in ours. Pure.

Heritrix's `AMQPUrlReceiver` reads the form of Umbra: `url`, `method`, `headers`, `parentUrl`, `parentUrlMetadata` (with
`pathFromSeed` and `heritableData`), `hop`, `forceFetch` and `isSeed`. Our form has `url`, `priority`, `force`, `seed`,
`via` and `source`. Further keys of Umbra's form are ignored, and those of ours are refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from archive.url import MAX_LENGTH, UrlError, canonical
from frontier.definition.job import first_problem
from frontier.definition.scope import LINK_HOPS, Candidate, Priority
from frontier.lease import extend

_OF_UMBRA: Final = frozenset({"method", "headers", "parentUrl", "parentUrlMetadata"})
"""A message with one of these keys has the form of Umbra."""
_LONGEST_PATH: Final = 1_000
_INFERRED: Final = "I"
"""Heritrix's letter for a URL that a browser asked for. For our scope, the URL is embedded in its page."""
_EMBED: Final = "E"

type LinkText = Annotated[str, Field(max_length=MAX_LENGTH)]


class MessageRefused(ValueError):
    """A message can't be used. The text says why in one line."""


@dataclass(frozen=True, slots=True)
class IntakeUrl:
    """The URL of a message, as the frontier takes it."""

    candidate: Candidate
    is_new_seed: bool = False
    """The URL becomes a seed of the job and widens its scope."""


class _Plain(BaseModel):
    """Our own form."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    url: LinkText
    priority: Literal["system", "high", "standard"] = "standard"
    force: bool = False
    seed: bool = False
    via: LinkText | None = None
    source: LinkText | None = None


class _ParentMetadata(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)

    path: Annotated[str, Field(alias="pathFromSeed", max_length=_LONGEST_PATH)] = ""
    heritable: Annotated[dict[str, Any], Field(alias="heritableData")] = {}


class _Umbra(BaseModel):
    """The form of Umbra. The headers are not kept, since the crawl sends its own."""

    model_config = ConfigDict(frozen=True, strict=True)

    url: LinkText
    method: Annotated[str, Field(max_length=32)] = "GET"
    parent: Annotated[LinkText | None, Field(alias="parentUrl")] = None
    metadata: Annotated[_ParentMetadata, Field(alias="parentUrlMetadata")] = _ParentMetadata()
    hop: Annotated[str, Field(pattern="^[A-Z]?$")] = _INFERRED
    force: Annotated[bool, Field(alias="forceFetch")] = False
    seed: Annotated[bool, Field(alias="isSeed")] = False


def read_message(body: bytes, longest: int) -> IntakeUrl:
    """Return the URL of a message. Raises MessageRefused. A message of more than `longest` bytes is not read."""
    if len(body) > longest:
        raise MessageRefused(f"the message has {len(body):,} bytes; the longest may have {longest:,}")
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise MessageRefused(f"the message is no JSON: {_short(error)}") from error
    if not isinstance(found, Mapping):
        raise MessageRefused("the message is no JSON object; write an object with the key url")
    try:
        return _of_umbra(_Umbra.model_validate(found)) if _OF_UMBRA & found.keys() else _of_ours(found)
    except ValidationError as error:
        raise MessageRefused(_short(first_problem(error))) from error
    except UrlError as error:
        raise MessageRefused(f"the url can't be used: {_short(error)}") from error


def _of_ours(found: Mapping[str, Any]) -> IntakeUrl:
    message = _Plain.model_validate(found)
    url = canonical(message.url)
    return IntakeUrl(
        Candidate(
            url=url,
            hop_path="" if message.seed else "L",
            via=message.via,
            source=url if message.seed else message.source,
            depth=0 if message.seed else 1,
            is_seed=message.seed,
            priority=Priority[message.priority.upper()],
            force=message.force,
        ),
        is_new_seed=message.seed,
    )


def _of_umbra(message: _Umbra) -> IntakeUrl:
    if message.method != "GET":
        raise MessageRefused(f"the method is {message.method!r}; only URLs that are fetched with GET can be queued")
    url = canonical(message.url)
    path = _hop_path(message.metadata.path, message.hop)
    candidate = Candidate(
        url=url,
        hop_path="" if message.seed else path,
        via=message.parent,
        source=url if message.seed else _source(message.metadata.heritable),
        depth=0 if message.seed else sum(map(path.count, LINK_HOPS)),
        is_seed=message.seed,
        # Heritrix queues what the browser asked for before everything else, so that the page is soon complete.
        priority=Priority.HIGH if message.hop == _INFERRED else Priority.STANDARD,
        force=message.force,
    )
    return IntakeUrl(candidate, is_new_seed=message.seed)


def _hop_path(parent: str, hop: str) -> str:
    """Return the hop path of a URL. Raises MessageRefused for a path that is none."""
    if not re.fullmatch(r"(\d{1,6}\+)?[A-Z]*", parent):
        raise MessageRefused(f"pathFromSeed = {parent[:60]!r} is no hop path; write Heritrix's letters, such as LLE")
    count, plus, letters = parent.rpartition("+")
    path = f"{count}{plus}"
    for letter in (letters + hop).replace(_INFERRED, _EMBED):
        path = extend(path, letter)
    return path


def _source(heritable: Mapping[str, Any]) -> str | None:
    """Return the seed that Heritrix passes on; without halves of characters, which Redis can't store."""
    found = heritable.get("source")
    return found[:MAX_LENGTH].encode("utf-8", "replace").decode() if isinstance(found, str) else None


def _short(problem: object) -> str:
    return " ".join(str(problem).split())[:300].encode("utf-8", "replace").decode()
