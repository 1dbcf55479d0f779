"""docs/explanation/architecture.md agrees with the folders, with the import contracts and with the tests."""

from __future__ import annotations

import hashlib
import re
import tomllib
from itertools import pairwise, product
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[2]
PAGE = TOP / "docs" / "explanation" / "architecture.md"
TEXT = PAGE.read_text("utf-8")


def diagram() -> str:
    found = re.search(r"```mermaid\n(.*?)```", TEXT, re.DOTALL)
    assert found
    return found[1]


def arrows() -> set[tuple[str, str]]:
    return set(re.findall(r"(\w+) --> (\w+)", diagram()))


def layers(container: str | None) -> list[list[str]]:
    """Return the layers of the contract for a folder, or of the one for the top, the highest first."""
    contracts: list[dict[str, Any]] = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["tool"][
        "importlinter"
    ]["contracts"]
    for contract in contracts:
        if contract["type"] == "layers" and contract.get("containers") == ([container] if container else None):
            return [re.split(r"\s*[|:]\s*", layer.strip("() ")) for layer in contract["layers"]]
    raise AssertionError(f"there is no contract of layers for {container}")


def neighbours(floors: list[list[str]]) -> set[tuple[str, str]]:
    return {pair for upper, lower in pairwise(floors) for pair in product(upper, lower)}


def test_the_arrows_between_the_top_folders_are_those_of_the_contract() -> None:
    floors = layers(None)
    names = {name for floor in floors for name in floor}

    assert {(a, b) for a, b in arrows() if a in names and b in names} == neighbours(floors)


def test_the_arrows_inside_the_proxy_are_those_of_the_contract() -> None:
    folders = {path.parent.name for path in (TOP / "proxy").glob("*/__init__.py")}
    floors = [inside for floor in layers("proxy") if (inside := [name for name in floor if name in folders])]

    assert {name for floor in floors for name in floor} == folders
    assert {(a, b) for a, b in arrows() if a in folders and b in folders} == neighbours(floors)


def test_the_drawing_was_made_from_the_diagram_of_the_page() -> None:
    drawing = PAGE.with_suffix(".svg").read_text("utf-8")

    mark = f"<!-- source sha256:{hashlib.sha256(diagram().encode()).hexdigest()} -->"
    assert drawing.startswith(mark), "run .venv/bin/python docs/diagram.py"
    boxes = set(re.findall(r"\w+", diagram())) - {"flowchart", "TD", "TB", "subgraph", "direction", "end"}
    assert {box for box in boxes if f">{box}<" not in drawing} == set()


def test_every_file_that_the_page_names_exists() -> None:
    named = re.findall(r"`((?:archive|dedupdb|frontier|proxy|browsers|admin|bench|tests|deploy)/[\w./]+)`", TEXT)

    assert [path for path in named if not (TOP / path).exists()] == []


def test_the_walk_of_one_request_has_at_most_fifteen_files() -> None:
    walk = TEXT.partition("## A walk")[2].partition("\n## ")[0]

    assert 10 <= len(re.findall(r"^\| \d+ \| `", walk, re.MULTILINE)) <= 15
