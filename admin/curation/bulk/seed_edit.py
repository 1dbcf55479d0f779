"""The seeds of a seed list are switched off and on, and get another scheme or host. Pure."""

from __future__ import annotations

import re
from typing import Final

_OFF: Final = "# off: "
"""A seed with this in front is kept, and is no seed: lines that begin with # are none."""
_SEED: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<host>[^/?#:@]*)(?P<rest>.*)", re.S)


def without_seeds(text: str, part: str) -> str:
    """Return the list with the seeds that have `part` in them switched off; an empty part is in all of them."""
    return "\n".join(f"{_OFF}{line}" if _is_seed(line) and part in line else line for line in text.split("\n"))


def with_seeds(text: str, part: str) -> str:
    """Return the list with the seeds that have `part` in them switched on again."""
    return "\n".join(
        line.removeprefix(_OFF) if line.startswith(_OFF) and part in line.removeprefix(_OFF) else line
        for line in text.split("\n")
    )


def with_address(text: str, from_scheme: str, to_scheme: str, from_host: str, to_host: str) -> str:
    """Return the list whose seeds of this scheme and host get the other ones; an empty text stands for any or none."""
    return "\n".join(
        _moved(line, from_scheme, to_scheme, from_host, to_host) if _is_seed(line) else line
        for line in text.split("\n")
    )


def _moved(line: str, from_scheme: str, to_scheme: str, from_host: str, to_host: str) -> str:
    found = _SEED.fullmatch(line.strip())
    if found is None:
        return line
    scheme, host = found["scheme"], found["host"]
    if (from_scheme and scheme.lower() != from_scheme.lower()) or (from_host and host.lower() != from_host.lower()):
        return line
    return f"{to_scheme or scheme}://{to_host or host}{found['rest']}"


def _is_seed(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")
