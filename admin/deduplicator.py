"""Convert the parameters of Heritrix's DeDuplicator, as in NetarchiveSuite's templates, to Ghostfleet settings.

A parameter has the name of an order.xml (`matching-method`) or of a crawler-beans.cxml (`matchingMethod`). A parameter
without a counterpart is left out with a reason if it does not change the archive, and refused if it does.
docs/how-to/deduplicator.md has the table.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

_CLASS: Final = "is.hi.bok.deduplicator.DeDuplicator"
_YES_NO: Final = {"true": True, "false": False}
_METHODS: Final = {"by url": "url", "url": "url", "by content digest": "digest", "digest": "digest"}
_ORIGINS: Final = {
    **{"no origin information": "none", "none": "none"},
    **{"use index information": "index", "index": "index"},
    **{"use processor setting": "processor", "processor": "processor"},
}
_ANALYSES: Final = {
    **{"none": "", "timestamp": "Last-Modified"},
    **{"timestamp and etag": "Last-Modified and ETag", "timestamp_and_etag": "Last-Modified and ETag"},
}
_KNOWN: Final = (
    *("enabled", "filters", "index-location", "matching-method", "try-equivalent", "change-content-size"),
    *("mime-filter", "filter-mode", "analysis-mode", "analyze-timestamp", "log-level", "origin", "origin-handling"),
    *("stats-per-host", "use-sparse-range-filter", "revisit-in-warcs", "jump-to"),
)
_LEFT_OUT: Final = {
    "index-location": "each collection has a dedup store of its own, with all its earlier jobs",
    "log-level": "the proxy has one log level",
    "use-sparse-range-filter": "this parameter concerns the memory of a Lucene index",
    "filters": "the crawler applies its filters before it asks the proxy",
}


class Unmapped(ValueError):
    """A parameter can't be converted. The message is one line with its name, its value and the remedy."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """The result of a conversion has settings, and reasons for the parameters that were left out."""

    settings: dict[str, Any] = field(default_factory=dict)
    """The settings by dotted name, such as `dedup.match`."""
    left_out: dict[str, str] = field(default_factory=dict)
    """The reasons for parameters without a setting, by the parameter's name."""


def settings_of(parameters: Mapping[str, str]) -> Mapped:
    """Return the settings with the effect of these parameters. Raises Unmapped for one that can't be converted."""
    given = {_dashed(name): str(value).strip() for name, value in parameters.items()}
    for name in given:
        if name not in _KNOWN:
            raise Unmapped(f"{name} is not a parameter of the DeDuplicator; known are {', '.join(_KNOWN)}")
    mapped = Mapped(left_out={name: why for name, why in _LEFT_OUT.items() if name in given})
    if "enabled" in given:
        mapped.settings["dedup.enabled"] = _choice(given, "enabled", _YES_NO)
    mapped.settings["dedup.match"] = _match(given, mapped.left_out)
    mapped.settings["dedup.mime_filter"] = _pattern(given.get("mime-filter", "^text/.*"))
    modes = {"blacklist": "blacklist", "whitelist": "whitelist"}
    mapped.settings["dedup.mime_filter_mode"] = _choice(given, "filter-mode", modes, "blacklist")
    _check_sizes(given)
    _leave_out_reports(given, mapped.left_out)
    _check_origin(given, mapped.left_out)
    return mapped


def parameters_in(path: Path) -> dict[str, str]:
    """Return the DeDuplicator's parameters in a crawler-beans.cxml or an order.xml. Raises Unmapped, OSError."""
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise Unmapped(f"{path} is not XML: {error}") from error
    for element in root.iter():
        if element.get("class") == _CLASS:
            named = ((child.get("name"), child.get("value", child.text)) for child in element)
            return {name: (value or "").strip() for name, value in named if name}
    raise Unmapped(f"{path} has no bean or object of class {_CLASS}")


def _match(given: Mapping[str, str], left_out: dict[str, str]) -> str:
    """Return the value of `dedup.match`. The DeDuplicator's default is by URL, without equivalent URLs."""
    match = _choice(given, "matching-method", _METHODS, "url")
    equivalent = _choice(given, "try-equivalent", _YES_NO, default=False)
    if match == "digest":
        if "try-equivalent" in given:
            left_out["try-equivalent"] = "with matching by digest, the URL does not matter"
        return "digest"
    return "equivalent" if equivalent else "url"


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise Unmapped(f"mime-filter = {text!r} is not a Python regular expression: {error}; correct it") from error
    return text


def _check_sizes(given: Mapping[str, str]) -> None:
    if _choice(given, "change-content-size", _YES_NO, default=False):
        raise Unmapped(
            "change-content-size = true is not supported: logs and reports count all received bytes, with new and"
            " duplicate ones separately; set it to false"
        )
    if not _choice(given, "revisit-in-warcs", _YES_NO, default=True):
        raise Unmapped(
            "revisit-in-warcs = false is not supported: every duplicate has a revisit record; set it to true"
        )
    if given.get("jump-to"):
        raise Unmapped(f"jump-to = {given['jump-to']!r} is not supported: there are no processors; leave it empty")


def _leave_out_reports(given: Mapping[str, str], left_out: dict[str, str]) -> None:
    if "stats-per-host" in given:
        _choice(given, "stats-per-host", _YES_NO)
        left_out["stats-per-host"] = "hosts-report.txt always counts duplicates by host"
    for name in ("analysis-mode", "analyze-timestamp"):
        if name in given:
            choices = _ANALYSES if name == "analysis-mode" else {"true": "Last-Modified", "false": ""}
            analysed = _choice(given, name, choices)
            what = f"the records have {analysed}; " if analysed else ""
            left_out[name] = f"{what}there is no such count; dedup.conditional asks the origin instead"


def _check_origin(given: Mapping[str, str], left_out: dict[str, str]) -> None:
    handling = _choice(given, "origin-handling", _ORIGINS, "none")
    if handling == "processor" and given.get("origin"):
        raise Unmapped(
            f"origin-handling = {given['origin-handling']!r} with origin = {given['origin']!r} is not supported:"
            " crawl.log names the original of each duplicate; set it to INDEX"
        )
    for name in ("origin-handling", "origin"):
        if name in given:
            left_out[name] = "crawl.log and the revisit record always name the original"


def _choice[T](given: Mapping[str, str], name: str, choices: Mapping[str, T], default: T | None = None) -> T:
    value = given.get(name)
    if value is None and default is not None:
        return default
    found = choices.get((value or "").lower())
    if found is None:
        raise Unmapped(f"{name} = {value!r} must be one of {', '.join(choices)}")
    return found


def _dashed(name: str) -> str:
    """Return the name with dashes: `mimeFilter` becomes `mime-filter`."""
    return re.sub(r"(?<=[a-z])([A-Z])", r"-\1", name.strip()).lower().replace("use-sparse-renge", "use-sparse-range")
