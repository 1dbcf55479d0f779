"""This bench measures pages of the admin site on filled databases of both kinds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rich.table import Table

from admin.models.database import Database
from bench.admin_site.filled_database import Amounts, fill_database
from bench.admin_site.page_requests import TARGET_MS, PageTimes, measure_pages
from bench.admin_site.private_postgres import private_postgres, programs

CONCURRENCIES: Final = (1, 4)


@dataclass(frozen=True, slots=True)
class PagesPlan:
    """The bench measures by this plan."""

    amounts: Amounts
    requests: int
    database_url: str | None = None
    """The only database to measure; without it, there are a SQLite file and a private PostgreSQL."""
    keep: Path | None = None
    only: str = ""


def measure_all(plan: PagesPlan, tell: Callable[[str], None]) -> Iterator[PageTimes]:
    """Fill each database, unless it is full already, and yield the times of its pages."""
    with ExitStack() as stack:
        folder = plan.keep or Path(stack.enter_context(TemporaryDirectory(prefix="ghostfleet-bench-")))
        folder.mkdir(parents=True, exist_ok=True)
        if plan.keep is None:
            folder.chmod(0o755)  # PostgreSQL may run as another user
        if plan.database_url:
            yield from _measured(plan, plan.database_url, folder, tell)
            return
        yield from _measured(plan, f"sqlite:///{folder / 'admin.db'}", folder, tell)
        if programs() is None:
            tell("PostgreSQL is not installed, so that SQLite alone was measured")
            return
        url = stack.enter_context(private_postgres(folder / "postgresql"))
        yield from _measured(plan, url, folder, tell)


def _measured(plan: PagesPlan, url: str, folder: Path, tell: Callable[[str], None]) -> Iterator[PageTimes]:
    database = Database(url)
    try:
        tell(f"{database.engine.dialect.name}: filling")
        fill_database(database, plan.amounts, tell)
    finally:
        database.close()
    tell(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    yield from measure_pages(url, folder / "home", plan.requests, CONCURRENCIES, plan.only)


def pages_table(found: Sequence[PageTimes]) -> Table:
    """Return the table of all times."""
    table = Table(title=f"Milliseconds; the target is p95 below {TARGET_MS:g}")
    for name in ("database", "page"):
        table.add_column(name)
    for name in ("clients", "requests", "failed", "p50", "p95", "max", "CPU"):
        table.add_column(name, justify="right")
    for one in found:
        numbers = (one.concurrency, one.requests, one.errors, one.p50_ms, one.p95_ms, one.max_ms, one.cpu_ms)
        table.add_row(one.database, one.page, *map(str, numbers), style="red" if one.is_slow else "")
    return table
