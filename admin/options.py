"""Options that several commands share, and errors that end a command with one line and an exit code."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from archive.settings.load import Settings

BAD_INPUT: Final = 2
JOB_FAILED: Final = 1
INTERRUPTED: Final = 130

_UNITS: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY: Final = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}


class InputError(click.ClickException):
    """The input can't be used. The message is one line with the remedy; the exit code is 2."""

    exit_code = BAD_INPUT

    def show(self, file: Any = None) -> None:
        """Print the message on one line of standard error, with secrets replaced (`log_format.redacted`)."""
        from admin.fleet.log_format import redacted

        click.echo(f"ghostfleet: {redacted(self.format_message())}", err=True)


class JobFailed(InputError):
    """The work began and failed. The exit code is 1."""

    exit_code = JOB_FAILED


class CommandRefused(InputError):
    """The thing is not there, or its state does not allow what was asked. The exit code is 1."""

    exit_code = JOB_FAILED


class Size(click.ParamType[int]):
    """The parameter is a number of bytes: `500000`, `20MB`, `1.5GiB`."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number of bytes."""
        return value if isinstance(value, int) else self._read(str(value), param, ctx)

    def _read(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?", text.strip().lower())
        if not match:
            self.fail(f"{text!r} is not a size; write a number of bytes such as 500MB or 2GiB", param, ctx)
        return int(float(match[1]) * (_UNITS | _BINARY)[match[2] or ""])


class Duration(click.ParamType[float]):
    """The parameter is a number of seconds: `90`, `90s`, `15m`, `2h`, `1d`."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number of seconds."""
        if isinstance(value, int | float):
            return float(value)
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", str(value).strip().lower())
        if not match:
            self.fail(f"{value!r} is not a duration; write for instance 90s, 15m or 2h", param, ctx)
        return float(match[1]) * _SECONDS[match[2]]


def common[F: Callable[..., Any]](command: F) -> F:
    """Add `--home` and `--settings`."""
    for option in (
        click.option(
            "--settings",
            "settings_file",
            type=click.Path(path_type=Path),
            help="Further settings file (TOML); its values win over ghostfleet.toml in the home.",
        ),
        click.option(
            "--home", type=click.Path(path_type=Path), help="Folder that holds all data.  [./ghostfleet-data]"
        ),
    ):
        command = option(command)
    return command


def child_options[F: Callable[..., Any]](command: F) -> F:
    """Add the options that a supervisor passes to its children (`admin.fleet.process`).

    A role that a user starts by hand has none of them.
    """
    for option in (
        click.option("--title", default="", hidden=True),
        click.option("--ready-fd", type=int, default=-1, hidden=True),
        click.option("--lifeline-fd", type=int, default=-1, hidden=True),
        click.option("--held-fd", "held_fds", type=int, multiple=True, hidden=True),
    ):
        command = option(command)
    return command


def fetching[F: Callable[..., Any]](command: F) -> F:
    """Add the options about origins: `--allow-private`, `--resolve`, `--upstream-ca`."""
    for option in (
        click.option("--upstream-ca", metavar="FILE", help="PEM file of further certificate authorities to trust."),
        click.option(
            "--resolve",
            multiple=True,
            metavar="NAME[:PORT]=ADDRESS[:PORT]",
            help="Use this address for this host name instead of DNS; *.NAME covers all names below NAME. Repeatable.",
        ),
        click.option(
            "--allow-private",
            is_flag=True,
            default=None,
            help="Allow fetches from private and loopback addresses such as localhost.",
        ),
    ):
        command = option(command)
    return command


def load_settings(home: Path | None, file: Path | None, flags: dict[str, Any] | None = None) -> Settings:
    """Return the settings in force; `flags` win over all files. Raises InputError for a setting that can't be used."""
    from archive.home_access import use_mask
    from archive.settings.load import SettingsError, load

    chosen = {"home": str(home) if home else None, **(flags or {})}
    try:
        settings = load(chosen, file=file)
    except SettingsError as error:
        raise InputError(str(error)) from error
    if settings.archive.readable_by == "group":
        use_mask("group")
    return settings


def say_mended(settings: Settings) -> None:
    """Give the files of the home their permissions, and say in one line when other users could read some."""
    from admin.fleet.home_folder import mended

    if line := mended(settings):
        click.echo(line, err=True)


def fetching_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that the options of `fetching` change. Raises InputError."""
    return {
        "proxy.allow_private": given["allow_private"],
        "proxy.upstream_ca": given["upstream_ca"],
        "proxy.resolve": resolve_table(given["resolve"]),
    }


def resolve_table(pairs: Sequence[str]) -> dict[str, str] | None:
    """Return `--resolve` flags as the setting `proxy.resolve`; None without such a flag. Raises InputError."""
    table = {}
    for pair in pairs:
        name, equals, target = pair.partition("=")
        if not (name and equals and target):
            raise InputError(
                f"--resolve {pair!r} can't be read; write NAME=ADDRESS, for instance www.example.org=127.0.0.1:8443"
            )
        table[name.lower()] = target
    return table or None
