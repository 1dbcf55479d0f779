"""A finished crawl, as the end-to-end tests look at it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from admin.demo.garden import GardenSite
from admin.demo.wire import Request


@dataclass(frozen=True)
class Harvest:
    """Its home, what the site was asked, what the command said. The site still runs."""

    site: GardenSite
    home: Path
    asked: list[Request]
    summary: str
