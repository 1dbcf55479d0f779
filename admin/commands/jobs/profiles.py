"""The commands `profile check`, `list` and `show` are about profile files. `profile browser` keeps logins.

`profile from-heritrix` converts a configuration of Heritrix.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admin.commands.jobs.browser_profiles import browser
from admin.commands.jobs.heritrix_profiles import from_heritrix
from admin.options import BAD_INPUT, InputError, common, load_settings

if TYPE_CHECKING:
    from archive.settings.load import Settings
    from frontier.definition.job import Profile


@click.group("profile")
def profile() -> None:
    """Check and show profiles of crawls; docs/reference/profiles.md lists the keys, with five examples."""


profile.add_command(browser)
profile.add_command(from_heritrix)


@profile.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the problems as JSON.")
def check(file: Path, as_json: bool) -> int:
    """Check a profile and print it as JSON with all its keys, defaults included.

    FILE is YAML, TOML or JSON, or the name of a stock profile. Three things are checked: that the file and those that
    it extends can be read; that the keys are known and have values that can be used; and that the values fit each
    other. All problems are named with their file and line. Warnings do not keep a profile from being used.

    Exit code 2 when the profile can't be used.
    """
    from frontier.definition.profile import check_profile

    found = check_profile(file)
    if as_json:
        problems = [
            {"file": str(each.file or file), "line": each.line, "key": each.key, "message": each.message,
             "is_warning": each.is_warning}
            for each in found.problems
        ]  # fmt: skip
        click.echo(json.dumps({"is_valid": found.profile is not None, "problems": problems}, ensure_ascii=False))
        return 0 if found.profile is not None else BAD_INPUT
    for each in found.problems if found.profile is not None else found.problems[:-1]:
        click.echo(f"ghostfleet: {each.text}", err=True)
    if found.profile is None:
        raise InputError(found.problems[-1].text)
    click.echo(found.profile.model_dump_json(indent=2))
    return 0


@profile.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object for each profile.")
def list_profiles(as_json: bool) -> None:
    """List the stock profiles, whose names `--profile` and the key `extends` take in place of a file."""
    from frontier.definition.profile_files import stock_names, stock_title

    for name in stock_names():
        facts = {"name": name, "title": stock_title(name)}
        click.echo(json.dumps(facts, ensure_ascii=False) if as_json else f"{name:<12} {facts['title']}")


@profile.command("show")
@click.argument("name", required=False, metavar="[NAME]")
@common
@click.option("--profile", "file", type=click.Path(path_type=Path), metavar="FILE", help="Profile to show.")
@click.option("--url", metavar="URL", help="Show the values that hold for this URL, and why.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(
    name: str | None, home: Path | None, settings_file: Path | None, file: Path | None, url: str | None, as_json: bool
) -> None:
    """Show a stock profile or a profile file; or, with --url, the values that hold for a URL.

    NAME is a stock profile or a file. Without --url the profile is printed with the keys that it sets, after all that
    it extends. With --url each key that a sheet may set is printed with its value and its source: a sheet, the profile,
    or a setting.
    """
    from frontier.definition.job import JobError, Profile
    from frontier.definition.profile import load_profile

    if name is not None and file is not None:
        raise InputError("NAME and --profile name two profiles; leave one out")
    if name is None and file is None and url is None:
        raise InputError("there is no profile to show; name one of `ghostfleet profile list`, or a file")
    chosen = Path(name) if name is not None else file
    try:
        found = load_profile(chosen) if chosen is not None else Profile()
    except JobError as error:
        raise InputError(str(error)) from error
    if url is None:
        click.echo(json.dumps(found.model_dump(mode="json", exclude_defaults=True), indent=2, ensure_ascii=False))
    else:
        _show_values(found, url, load_settings(home, settings_file), as_json)


def _show_values(profile: Profile, url: str, settings: Settings, as_json: bool) -> None:
    from archive.url import UrlError, canonical
    from frontier.explanation import held_values
    from frontier.name_lookups import NameLookups

    try:
        fetched = canonical(url)
    except UrlError as error:
        raise InputError(f"--url {url[:200]!r} can't be used: {error}") from error
    lookups = NameLookups()
    values = held_values(
        profile, fetched, settings.frontier, addresses_of=lambda host: lookups.names_of(host).addresses
    )
    lookups.close()
    if as_json:
        facts = [{"key": each.key, "value": each.value, "source": each.source} for each in values]
        click.echo(json.dumps(facts, ensure_ascii=False))
        return
    for each in values:
        click.echo(f"{each.key:<24} {each.value!s:<14} {each.source}")
