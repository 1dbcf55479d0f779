"""admin/harvests/generation asks admin/harvests/domains for traps, aliases and extended fields, and has no own SQL."""

from __future__ import annotations

import ast
from pathlib import Path

from support.places import ROOT

TABLES = frozenset(("CrawlerTrap", "CrawlerTrapList", "ExtendedField", "ExtendedValue"))
COLUMNS = frozenset(("alias_of", "alias_of_id", "alias_since"))


def test_generation_reads_traps_aliases_and_extended_fields_through_their_nouns() -> None:
    paths = sorted((ROOT / "admin/harvests/generation").glob("*.py"))
    assert {"candidates.py", "jobs.py", "plan.py"} <= {path.name for path in paths}
    assert [line for path in paths for line in own_readers(path)] == []


def test_an_own_reader_is_found(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(
        "from admin.models.domain_tables import CrawlerTrap, Domain\n"
        "import admin.models.domain_tables as tables\n"
        "query = select(Domain.alias_since, tables.ExtendedValue.value)\n"
    )
    assert [line.rpartition(" ")[2] for line in own_readers(path)] == ["CrawlerTrap", "ExtendedValue", "alias_since"]


def own_readers(path: Path) -> list[str]:
    """The names of these tables and columns that a module uses, by line."""
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found += [(node.lineno, each.name) for each in node.names if each.name in TABLES]
        elif isinstance(node, ast.Attribute) and node.attr in TABLES | COLUMNS:
            found.append((node.lineno, node.attr))
    return [f"{path.name}:{line} {name}" for line, name in sorted(found)]
