"""Each command line in the documentation can be parsed with the real commands' options."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest
from support.web.doc_pages import TOP, Line, arguments, code_spans, command_lines, written_pages

from admin.cli import ghostfleet

LINES = command_lines()
PLACEHOLDER = re.compile(r"<?[A-Z]+>?")
OPTIONS_OF_OTHERS = {
    "--cdxserver-dedup": "warcprox",
    "--crawl-log-dir": "warcprox",
    "--blackout-period": "warcprox",
    "--dedup-db-file": "warcprox",
    "--dedup-min-binary-size": "warcprox",
    "--dedup-min-text-size": "warcprox",
    "--dedup-only-with-bucket": "warcprox",
    "--ignore-certificate-errors-spki-list": "Chromium",
    "--no-sandbox": "Chromium",
    "--scopeType": "Browsertrix Crawler",
    "--stats-db-file": "warcprox",
    "--url": "Browsertrix Crawler",
}


def resolved(words: list[str]) -> tuple[click.Command, click.Context, list[str]]:
    """Return the innermost command that the words name, its context, and the words behind."""
    command: click.Command = ghostfleet
    context = click.Context(command, info_name="ghostfleet")
    rest = list(words)
    while (
        isinstance(command, click.Group) and rest and not rest[0].startswith("-") and not PLACEHOLDER.fullmatch(rest[0])
    ):
        found = command.get_command(context, rest[0])
        if found is None:
            raise click.UsageError(f"there is no command {rest[0]!r}")
        command, context = found, click.Context(found, parent=context, info_name=rest.pop(0))
    return command, context, rest


def check(line: Line) -> None:
    """Raise click's error when the line can't be typed."""
    command, context, rest = resolved(line.words)
    values, extra, _ = command.make_parser(context).parse_args(rest)
    if extra and not isinstance(command, click.Group):
        raise click.UsageError(f"got unexpected extra arguments {extra}")
    for parameter in command.params:
        value = values.get(parameter.name or "")
        if isinstance(value, str) and not isinstance(parameter.type, click.Path | click.File):
            for each in value.split("|"):
                if not PLACEHOLDER.fullmatch(each):
                    parameter.type.convert(each, parameter, context)
        required = isinstance(parameter, click.Argument) and parameter.required and parameter.nargs == 1
        if line.whole and required and not isinstance(value, str):
            raise click.UsageError(f"missing {parameter.human_readable_name}")


def options(command: click.Command) -> Iterator[str]:
    yield from (name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts))
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from options(inner)


def test_each_command_line_can_be_typed() -> None:
    wrong = []
    for line in LINES:
        try:
            check(line)
        except click.UsageError as error:
            wrong.append(f"{line.page}: `{line.text}`: {error.format_message()}")
    assert wrong == []


def test_lines_of_all_kinds_are_found() -> None:
    assert {line.whole for line in LINES} == {True, False}
    assert {"README.md", "docs/tutorial/first-crawl.md", "deploy/systemd/ghostfleet-proxy.service"} <= {
        line.page for line in LINES
    }


@pytest.mark.parametrize(
    "text",
    [
        "ghostfleet crawel https://example.org/",
        "ghostfleet crawl https://example.org/ --colection example",
        "ghostfleet crawl https://example.org/ --scope planet",
        "./run job show one two",
    ],
)
def test_a_wrong_line_is_found(text: str) -> None:
    words = arguments(text)
    assert words is not None

    with pytest.raises(click.UsageError):
        check(Line("page", text, words, True))


def test_each_option_named_alone_is_one_of_ours_or_of_a_named_program() -> None:
    ours = set(options(ghostfleet)) | {"--help"}
    named = {
        (str(page.relative_to(TOP)), found[0])
        for page in written_pages()
        for span in code_spans(page.read_text("utf-8"))
        if (found := re.match(r"--[\w-]+", span))
    }

    assert {pair for pair in named if pair[1] not in ours and pair[1] not in OPTIONS_OF_OTHERS} == set()
