"""This module finds code in the documentation: command lines, and words in back-quotes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from support.places import ROOT

TOP: Final = ROOT
PROGRAMS: Final = ("ghostfleet ", "./run ", "/opt/ghostfleet/.venv/bin/ghostfleet ")
OF_RUN: Final = ("demo", "test", "lint")
"""Commands of `./run` that are not commands of `ghostfleet`."""
ENDS: Final = {"|", "||", "&", "&&", ";", ">", "<"}


class Line(NamedTuple):
    """A line is one command in one file, divided into words, without the program's name."""

    page: str
    text: str
    words: list[str]
    whole: bool
    """Whether the line can be typed as it stands: it is in a console block, not in a sentence."""


def written_pages() -> list[Path]:
    """Return all Markdown pages but the one that is made from the commands themselves."""
    pages = [TOP / "README.md", TOP / "CONTRIBUTING.md", *sorted((TOP / "docs").rglob("*.md"))]
    return [page for page in pages if page.name != "commands.md"]


def other_texts() -> list[Path]:
    """Return files with command lines that are no Markdown pages."""
    deploy = [path for path in (TOP / "deploy").rglob("*") if path.suffix in {".service", ".toml", ".cfg", ".conf"}]
    return [*sorted((TOP / "docs" / "reference" / "profiles").glob("*.toml")), *sorted(deploy)]


def without_blocks(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def code_spans(text: str) -> list[str]:
    """Return what stands in back-quotes outside of blocks. In tables, `\\|` is a vertical bar."""
    return [span.replace("\\|", "|") for span in re.findall(r"`([^`\n]+)`", without_blocks(text))]


def console_lines(text: str) -> Iterator[str]:
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        joined = re.sub(r"\\\n\s*", " ", block)
        yield from (line[2:] for line in joined.splitlines() if line.startswith("$ "))


def arguments(line: str) -> list[str] | None:
    """Return the words after the program's name; None for a line of another program."""
    program = next((name for name in PROGRAMS if line.startswith(name)), None)
    if program is None:
        return None
    if program.startswith("./run") and line.split()[1] in OF_RUN:
        return None
    lexer = shlex.shlex(line.removeprefix(program).replace("…", " "), posix=True, punctuation_chars=";&<>")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in lexer:
        if word in ENDS:
            break
        words.append(word)
    return words


def command_lines() -> list[Line]:
    """Return each `ghostfleet …` and `./run …` of the documentation."""
    found = []
    for page in written_pages():
        text = page.read_text("utf-8")
        found += [(page, line, True) for line in console_lines(text)]
        found += [(page, span, False) for span in code_spans(text)]
    for page in other_texts():
        text = re.sub(r" \\\n# +", " ", page.read_text("utf-8"))
        lines = re.findall(r"^(?:# +|ExecStart=)(.*)$", text, re.MULTILINE)
        found += [(page, line, True) for line in lines]
    parsed = ((page, text, arguments(text), whole) for page, text, whole in found)
    return [Line(str(page.relative_to(TOP)), text, words, whole) for page, text, words, whole in parsed if words]
