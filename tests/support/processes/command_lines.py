"""Commands of use cases, run in this process as `ghostfleet` runs them: exit code, standard output, standard error."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

from admin.cli import ghostfleet


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


type Run = Callable[..., Ended]


def runner(home: Path, database_url: str) -> Run:
    """Return a function that runs a command on this database."""

    def run(*words: str, given: str | bytes = "", **environment: str) -> Ended:
        result = CliRunner().invoke(
            ghostfleet,
            [*words, "--home", str(home)],
            input=given,
            env={"GHOSTFLEET_DATABASE__URL": database_url, "COLUMNS": "200", **environment},
            standalone_mode=False,
        )
        if isinstance(result.exception, click.ClickException):
            code, message = result.exception.exit_code, f"ghostfleet: {result.exception.format_message()}"
            return Ended(code, result.stdout, result.stderr + message)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        code = result.return_value if isinstance(result.return_value, int) else result.exit_code
        return Ended(code, result.stdout, result.stderr)

    return run
