"""The commands `template upload` and `template download` have their place here. They move texts to and from files."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any, Final

import click

from admin.commands.use_cases.making import UseCaseCommand, checked, open_caller, operation_of, with_doors
from admin.commands.use_cases.parameters import FILE
from admin.commands.use_cases.show import show, show_bytes, show_json
from admin.commands.use_cases.values import read_text
from admin.options import CommandRefused, InputError
from archive.home_access import leave_to_user

_EXIT_CODES: Final = """

\b
Exit codes:
  0  done
  1  refused: there is no such template or version
  2  the text, the file or the database can't be used"""


def _upload(name: str, file: str, comments: str, **given: Any) -> None:
    text = read_text(file, "text")
    with closing(open_caller(given)) as caller:
        try:
            caller(operation_of("template.show"), {"name": name}, None)
            operation, parameters = operation_of("template.add-version"), {"name": name}
            values = {"text": text, "comments": comments}
        except CommandRefused:
            operation, parameters = operation_of("template.create"), {}
            values = {"name": name, "text": text, "version_comments": comments}
        assert operation.input is not None
        result = caller(operation, parameters, checked(operation.input, values))
    if given["as_json"]:
        show_json(result)
    else:
        show(operation, result.model_copy(update={"text": ""}) if hasattr(result, "text") else result, caller.where)


def _download(name: str, version: int | None, output: str | None, as_json: bool, **given: Any) -> None:
    with closing(open_caller(given)) as caller:
        number = version
        if number is None:
            number = caller(operation_of("template.show"), {"name": name}, None).version
        content = caller(operation_of("template.download"), {"name": name, "number": number}, None)
    if as_json:
        show_json({"name": name, "version": number, "text": content.decode()})
    elif output is None:
        show_bytes(content)
    else:
        try:
            Path(output).write_bytes(content)
            leave_to_user(Path(output))
        except OSError as error:
            raise InputError(f"--output: {output} can't be written: {error.strerror}; name another file") from error


upload: Final = with_doors(
    UseCaseCommand(
        "upload",
        params=[
            click.Argument(["name"], metavar="NAME"),
            click.Argument(["file"], type=FILE, metavar="FILE"),
            click.Option(["--comments"], default="", metavar="TEXT", help="Comments on this version."),
        ],
        callback=_upload,
        help="Make a template of a file, or a new version of the template when there is one of this name.\n\n"
        "FILE is a profile in YAML, or - for standard input. Nothing is kept when a value can't be used." + _EXIT_CODES,
        short_help="Make a template, or a new version of one, of a file.",
    )
)
download: Final = with_doors(
    UseCaseCommand(
        "download",
        params=[
            click.Argument(["name"], metavar="NAME"),
            click.Option(["--version"], type=int, metavar="NUMBER", help="Number of a version.  [the present one]"),
            click.Option(["--output"], type=click.Path(), metavar="FILE", help="File to write.  [standard output]"),
        ],
        callback=_download,
        help="Write the text of a template as its author wrote it." + _EXIT_CODES,
        short_help="Write the text of a template to a file.",
    )
)
