"""This script writes docs/reference/settings.md from the settings: `.venv/bin/python docs/settings_table.py`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from archive.settings.load import names
from archive.settings.proxy import GROUPS

TARGET: Final = Path(__file__).resolve().parent / "reference" / "settings.md"

HEAD: Final = """\
# Settings

A setting has the value of the last of these that names it: the default below, `ghostfleet.toml` in the home, the file
of `--settings`, the environment, the flags of the command. In a file, the first word of a name is the table and the
second is the key. In the environment, two underscores join them:

| where | how `proxy.port` is set |
|---|---|
| `ghostfleet.toml` | `[proxy]` and, below it, `port = 8000` |
| environment | `GHOSTFLEET_PROXY__PORT=8000`; a table as `NAME=VALUE,NAME=VALUE` or as a JSON object |

Sizes are in bytes and times in seconds. An unknown name is an error whose message suggests the nearest name.
`ghostfleet config` prints every setting with its value and the source of the value, without passwords and keys.
The home itself is set by `--home` or `GHOSTFLEET_HOME`; the default is `./ghostfleet-data`.
"""


def document() -> str:
    """Return the whole of docs/reference/settings.md."""
    parts = [HEAD]
    for section, found in groupby(names(), key=lambda row: row[0].partition(".")[0]):
        parts.append(f"\n## {section}\n")
        rows = list(found)
        if section == "proxy":
            for group in GROUPS:
                chosen = [row for row in rows if row[0].removeprefix("proxy.") in group.model_fields]
                parts += [f"\n### {group.heading}\n", *_table(chosen)]
        else:
            parts += _table(rows)
    return "".join(parts)


def _table(rows: Iterable[tuple[str, Any, str]]) -> Iterator[str]:
    yield "\n| name | default | meaning |\n|---|---|---|\n"
    for name, default, meaning in rows:
        yield f"| `{name}` | {_shown(default)} | {meaning.replace('|', '\\|')} |\n"


def _shown(default: Any) -> str:
    if default in ("", {}, [], ()):
        return "none"
    if isinstance(default, str):
        return f"`{default}`"
    return f"`{json.dumps(default, default=str)}`"


if __name__ == "__main__":
    TARGET.write_text(document(), "utf-8")
