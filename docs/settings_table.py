"""Writes docs/settings.md from the settings themselves: `.venv/bin/python docs/settings_table.py`."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from archive.settings import names

TARGET: Final = Path(__file__).resolve().parent / "settings.md"

HEAD: Final = """\
# Settings

A setting is looked for in this order, and the last one found wins: the default below, `ghostfleet.toml` in the home,
the file named with `--settings`, the environment, the command's flags. In a file, the first word of a name is the
table and the second the key; in the environment, both are joined by two underscores:

| where | how `proxy.port` is set |
|---|---|
| `ghostfleet.toml` | `[proxy]` and, below it, `port = 8000` |
| environment | `GHOSTFLEET_PROXY__PORT=8000`; a table as `NAME=VALUE,NAME=VALUE` or as a JSON object |

Sizes are bytes and times are seconds. An unknown name is an error that suggests the nearest one.
`ghostfleet config` prints every setting in force and where its value comes from, without passwords and keys.
The home itself is `--home` or `GHOSTFLEET_HOME`, by default `./ghostfleet-data`.
"""


def document() -> str:
    """The whole of docs/settings.md."""
    parts = [HEAD]
    for section, rows in groupby(names(), key=lambda row: row[0].partition(".")[0]):
        parts.append(f"\n## {section}\n\n| name | default | meaning |\n|---|---|---|\n")
        parts += [
            f"| `{name}` | {_shown(default)} | {meaning.replace('|', '\\|')} |\n" for name, default, meaning in rows
        ]
    return "".join(parts)


def _shown(default: Any) -> str:
    if default in ("", {}, [], ()):
        return "none"
    if isinstance(default, str):
        return f"`{default}`"
    return f"`{json.dumps(default, default=str)}`"


if __name__ == "__main__":
    TARGET.write_text(document(), "utf-8")
