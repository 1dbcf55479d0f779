"""The command `profile from-heritrix` converts a crawler-beans.cxml of Heritrix 3 to a profile."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from admin.options import InputError
from admin.units import counted
from archive.names.characters import printable
from archive.program_name import command

if TYPE_CHECKING:
    from frontier.definition.heritrix.profile import Conversion
    from frontier.definition.heritrix.scope import KeyFinding

_TITLES: Final = {"mapped": "Mapped", "partly": "Mapped in part", "not-mapped": "Not mapped", "ignored": "Ignored"}


@click.command("from-heritrix")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Profile to write.")
@click.option(
    "--seeds-output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="List of seeds to write."
)
@click.option("--json", "as_json", is_flag=True, help="Print the profile and the report as JSON.")
def from_heritrix(file: Path, output: Path | None, seeds_output: Path | None, as_json: bool) -> None:
    """Convert a crawler-beans.cxml of Heritrix 3 to a profile, with a report of every key.

    The report says of each key whether it was mapped, mapped in part, not mapped, or ignored since it has no meaning
    here; the first three name our key, the reason or the remedy. Values that Heritrix uses unless the file says
    otherwise are marked. Imported files are named and not read. Names of users and passwords are not taken over.

    Without --output the profile goes to standard output, and the report to standard error. The profile is loaded as
    `profile check` does. Exit code 2 when FILE is no configuration of Heritrix 3.
    """
    from frontier.definition.heritrix.beans import MAX_BYTES, BeansUnreadable
    from frontier.definition.heritrix.profile import convert, yaml_text

    for path in (output, seeds_output):
        if path is not None and path.exists():
            raise InputError(f"the file {path} exists already; name another one, or remove it")
    if output is not None and output.suffix.lower() not in (".yaml", ".yml"):
        raise InputError(f"--output {output} must end in .yaml, since the profile is written as YAML")
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
        found = convert(data)
    except OSError as error:
        raise InputError(f"FILE {file} can't be read: {error.strerror}; name an existing file") from error
    except BeansUnreadable as error:
        raise InputError(f"FILE {file} can't be converted: {error}") from error
    head = (f"This profile was made from {file.name} of Heritrix 3 by `ghostfleet profile from-heritrix`.",)
    text = yaml_text(found.values, head)
    problems = _load_problems(text)
    _write(output, text)
    if seeds_output is not None:
        _write(seeds_output, "".join(f"{seed}\n" for seed in found.seeds))
    if as_json:
        click.echo(json.dumps(_facts(found, problems), ensure_ascii=False))
    else:
        if output is None:
            click.echo(text, nl=False)
        for line in _report(found, problems, output):
            click.echo(line, err=output is None)
    if problems:
        raise InputError(f"the profile made of {file} can't be used: {problems[0]}")


def _write(path: Path | None, text: str) -> None:
    if path is None:
        return
    try:
        with path.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except OSError as error:
        raise InputError(f"the file {path} can't be written: {error.strerror}; name another one") from error


def _load_problems(text: str) -> list[str]:
    """Return why the profile loader refuses a text; nothing when it takes the text."""
    from frontier.definition.profile import check_profile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profile.yaml"
        path.write_text(text, "utf-8")
        return [each.message for each in check_profile(path).errors]


def _facts(found: Conversion, problems: list[str]) -> dict[str, object]:
    findings = [
        {"key": each.key, "value": each.value, "outcome": each.outcome, "result": each.result, "why": each.why,
         "line": each.line, "is_default": each.is_default}
        for each in found.findings
    ]  # fmt: skip
    counts = {outcome: found.count(outcome) for outcome in ("mapped", "partly", "not-mapped", "ignored")}
    return {
        "profile": found.values, "loads": not problems, "problems": problems, "counts": counts,
        "seeds": len(found.seeds), "findings": findings,
    }  # fmt: skip


def _report(found: Conversion, problems: list[str], output: Path | None) -> Iterator[str]:
    for outcome, title in _TITLES.items():
        chosen = [each for each in found.findings if each.outcome == outcome]
        if chosen:
            yield f"{title} ({len(chosen):,}):"
            yield from (f"  {_line(each)}" for each in chosen)
    if not problems:
        yield f"The profile loads{f'; it is in {output}' if output is not None else ''}."
    if found.seeds:
        yield f"The file also has {counted(len(found.seeds), 'seed')}; --seeds-output writes a list for --seeds-file."
    if output is not None:
        yield f"`{command(f'profile check {output}')}` shows all its keys."


def _line(each: KeyFinding) -> str:
    line = f" (line {each.line})" if each.line is not None else ""
    value = f" = {each.value}" if each.value else ""
    usual = " (Heritrix's own value)" if each.is_default else ""
    result = f" -> {'; '.join(each.result)}" if each.result else ""
    return printable(f"{each.key}{line}{value}{usual}{result}{f': {each.why}' if each.why else ''}", " ")
