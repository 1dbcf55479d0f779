"""The command `profile check` validates a profile and prints all its keys. `profile browser` keeps logins."""

from __future__ import annotations

from pathlib import Path

import click

from admin.commands.jobs.browser_profiles import browser
from admin.options import InputError


@click.group("profile")
def profile() -> None:
    """Check the profile of a crawl; docs/reference/profiles.md lists the keys, with five examples."""


profile.add_command(browser)


@profile.command("check")
@click.argument("file", type=click.Path(path_type=Path))
def check(file: Path) -> None:
    """Check a profile and print it as JSON with all its keys, defaults included.

    FILE is TOML or JSON. Exit code 2 when the profile can't be used; one line names the key, the value and the remedy.
    """
    from frontier.definition.job import JobError
    from frontier.definition.profile import load_profile

    try:
        click.echo(load_profile(file).model_dump_json(indent=2))
    except JobError as error:
        raise InputError(str(error)) from error
