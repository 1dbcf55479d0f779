"""The pages of this folder get these answers of the server."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from support.pages.feature import Answers, Reply

_FILE: Final = Path(__file__).resolve().parents[3] / "admin/demo/site/static/fonts/garden-ornaments.woff2"
_FONT: Final = Reply(_FILE.read_bytes(), "font/woff2")


ANSWERS: Final[Answers] = {
    "font-range": {
        "used.woff2": _FONT,
        "unused.woff2": _FONT,
    },
}
