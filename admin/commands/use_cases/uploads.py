"""The commands `domain upload` and `domain upload-seeds` read long lists as a stream, whatever their length."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, Final

import click

from admin.commands.use_cases.doors import LocalCaller, RemoteCaller, explained
from admin.commands.use_cases.making import UseCaseCommand, checked, operation_of, with_doors
from admin.commands.use_cases.parameters import FILE
from admin.commands.use_cases.show import show_json
from admin.commands.use_cases.values import opened_file, read_text
from admin.harvests.domains.upload_lines import pieces_of_file
from admin.harvests.domains.uploads import SeedTarget, UploadReport, UploadTally
from admin.harvests.domains.uploads import upload_domains as add_domains
from admin.harvests.domains.uploads import upload_seeds as add_seeds
from admin.options import JOB_FAILED, load_settings
from archive.names.characters import printable

_SHOWN: Final = 20
"""Invalid lines that are shown to people; `--json` has up to 1,000."""
_EXIT_CODES: Final = """

\b
Exit codes:
  0  all lines were used
  1  some lines can't be used; the others are added
  2  the file or the database can't be used"""


def _upload_domains(after_line: int, **given: Any) -> int:
    if given["server"]:
        return _sent("domain.upload", {}, given)

    def add(caller: LocalCaller, pieces: Iterator[bytes]) -> UploadReport:
        return add_domains(caller.database, caller.actor, pieces, after_line=after_line, on_progress=_tell)

    return _read(given, add)


def _upload_seeds(after_line: int, **given: Any) -> int:
    names = ("seed_list", "configuration", "template", "max_bytes", "max_objects")
    chosen = {name: given[name] for name in names if given[name] is not None}
    if given["server"]:
        return _sent("domain.upload-seeds", chosen, given)
    target = SeedTarget(**{"seed_list": "defaultseeds", **chosen})

    def add(caller: LocalCaller, pieces: Iterator[bytes]) -> UploadReport:
        return add_seeds(caller.database, caller.actor, pieces, target, after_line=after_line, on_progress=_tell)

    return _read(given, add)


def _read(given: dict[str, Any], add: Callable[[LocalCaller, Iterator[bytes]], UploadReport]) -> int:
    """Read the file into the database of the home, each part of it in a transaction of its own."""
    with (
        closing(LocalCaller(load_settings(given["home"], given["settings_file"]))) as caller,
        opened_file(given["file"], "FILE") as stream,
        explained(),
    ):
        return _told(add(caller, pieces_of_file(stream)), given)


def _sent(name: str, fields: dict[str, Any], given: dict[str, Any]) -> int:
    """Send the file to a server as one request."""
    operation = operation_of(name)
    assert operation.input is not None
    with closing(RemoteCaller(given["server"], given["token"])) as caller:
        body = checked(operation.input, {"text": read_text(given["file"], "text"), **fields})
        return _told(caller(operation, {}, body), given)


def _tell(tally: UploadTally) -> None:
    """Show how far a long upload is: after a break, `--after-line` continues from here."""
    click.echo(f"{tally.lines:,} lines read", err=True)


def _told(report: UploadReport, given: dict[str, Any]) -> int:
    if given["as_json"]:
        show_json(report)
    else:
        for each in report.problems[:_SHOWN]:
            click.echo(f"line {each.line}: {printable(each.reason)}", err=True)
        if report.invalid > _SHOWN:
            click.echo(f"{report.invalid - _SHOWN:,} more lines can't be used; --json shows the first 1,000", err=True)
        click.echo(report.summary)
    return JOB_FAILED if report.invalid else 0


def _file() -> list[click.Parameter]:
    return [
        click.Argument(["file"], type=FILE, metavar="FILE"),
        click.Option(
            ["--after-line"], type=click.IntRange(0), default=0, metavar="NUMBER",
            help="Begin after this line, to continue an upload that was broken off.",
        ),
    ]  # fmt: skip


upload_domains: Final = with_doors(
    UseCaseCommand(
        "upload",
        params=_file(),
        callback=_upload_domains,
        help="Add the domains of a list, one on each line.\n\nFILE is text in UTF-8, or - for standard input. Domains"
        " that are there already stay as they are, so an upload may be repeated. Lines that can't be used are named"
        " with their reason." + _EXIT_CODES,
        short_help="Add the domains of a list, one on each line.",
    )
)
upload_seeds: Final = with_doors(
    UseCaseCommand(
        "upload-seeds",
        params=[
            *_file(),
            click.Option(["--seed-list"], metavar="NAME", help="Seed list that gets the URLs.  [defaultseeds]"),
            click.Option(["--configuration"], metavar="NAME", help="Configuration that uses the seed list."),
            click.Option(["--template"], metavar="NAME", help="Template of configurations that are new."),
            click.Option(["--max-bytes"], type=int, help="Most bytes of new configurations; -1 is no limit."),
            click.Option(["--max-objects"], type=int, help="Most objects of new configurations; -1 is no limit."),
        ],
        callback=_upload_seeds,
        help="Add URLs to a seed list of their domains, one on each line; domains are added where they are new.\n\n"
        "FILE is text in UTF-8, or - for standard input." + _EXIT_CODES,
        short_help="Add URLs to a seed list of their domains.",
    )
)
