"""Flags that several commands share, and how they become settings; errors of set-up in one line."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

if TYPE_CHECKING:
    from archive.settings import Settings

BAD_INPUT: Final = 2
JOB_FAILED: Final = 1
INTERRUPTED: Final = 130

_UNITS: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY: Final = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}


class InputError(click.ClickException):
    """What was asked can't be done here; shown as one line with its remedy, exit code 2."""

    exit_code = BAD_INPUT

    def show(self, file: Any = None) -> None:
        """On one line of standard error."""
        click.echo(f"ghostfleet: {self.format_message()}", err=True)


class JobFailed(InputError):
    """The work was begun and did not succeed; exit code 1."""

    exit_code = JOB_FAILED


class Size(click.ParamType[int]):
    """Bytes: `500000`, `20MB`, `1.5GiB`."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of bytes."""
        return value if isinstance(value, int) else self._read(str(value), param, ctx)

    def _read(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?", text.strip().lower())
        if not match:
            self.fail(f"{text!r} is no size; write for instance 500MB or 2GiB", param, ctx)
        return int(float(match[1]) * (_UNITS | _BINARY)[match[2] or ""])


class Duration(click.ParamType[float]):
    """Seconds: `90`, `90s`, `15m`, `2h`, `1d`."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number of seconds."""
        if isinstance(value, int | float):
            return float(value)
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", str(value).strip().lower())
        if not match:
            self.fail(f"{value!r} is no time; write for instance 90s, 15m or 2h", param, ctx)
        return float(match[1]) * _SECONDS[match[2]]


def common[F: Callable[..., Any]](command: F) -> F:
    """Adds `--home` and `--settings`."""
    for option in (
        click.option(
            "--settings", "settings_file", type=click.Path(path_type=Path), help="Settings file (TOML) to read besides."
        ),
        click.option("--home", type=click.Path(path_type=Path), help="Folder of everything kept.  [./ghostfleet-data]"),
    ):
        command = option(command)
    return command


def child_options[F: Callable[..., Any]](command: F) -> F:
    """Adds what a supervisor tells its children (`admin.process`); absent in a role started by hand."""
    for option in (
        click.option("--title", default="", hidden=True),
        click.option("--ready-fd", type=int, default=-1, hidden=True),
        click.option("--lifeline-fd", type=int, default=-1, hidden=True),
        click.option("--held-fd", "held_fds", type=int, multiple=True, hidden=True),
    ):
        command = option(command)
    return command


def fetching[F: Callable[..., Any]](command: F) -> F:
    """Adds where the proxies may fetch from: `--allow-private`, `--resolve`, `--upstream-ca`."""
    for option in (
        click.option("--upstream-ca", metavar="FILE", help="PEM file of authorities to trust besides the system's."),
        click.option(
            "--resolve",
            multiple=True,
            metavar="NAME[:PORT]=ADDRESS[:PORT]",
            help="Address of a name, before DNS; *.NAME for all below it. Repeatable.",
        ),
        click.option("--allow-private", is_flag=True, default=None, help="Fetch from private and loopback addresses."),
    ):
        command = option(command)
    return command


def load_settings(home: Path | None, file: Path | None, flags: dict[str, Any] | None = None) -> Settings:
    """The settings in force with these flags over them; InputError for what can't be used."""
    from archive.settings import SettingsError, load

    chosen = {"home": str(home) if home else None, **(flags or {})}
    try:
        return load(chosen, file=file)
    except SettingsError as error:
        raise InputError(str(error)) from error


def resolve_table(pairs: Sequence[str]) -> dict[str, str] | None:
    """`--resolve` flags as the setting `proxy.resolve`; None when there are none."""
    table = {}
    for pair in pairs:
        name, equals, target = pair.partition("=")
        if not (name and equals and target):
            raise InputError(f"--resolve {pair!r}: write NAME=ADDRESS, for instance www.example.org=127.0.0.1:8443")
        table[name.lower()] = target
    return table or None


def fail(message: str) -> NoReturn:
    """End the command with one line and exit code 2."""
    raise InputError(message)
