"""The commands `job edit` and `job edits` change the profile of a job while it runs, and tell what was changed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from admin.commands.jobs.steering import complete_job, steering_errors, target_of
from admin.options import InputError, common

if TYPE_CHECKING:
    from frontier.definition.edits import ProfileEdit
    from frontier.definition.job import Profile

_NAME = click.argument("name", shell_complete=complete_job)


@click.command("edit")
@common
@_NAME
@click.argument("changes", nargs=-1, metavar="CHANGE…")
@click.option(
    "--file",
    "file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Profile whose keys are set, such as a patch of `job edits`.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per edit.")
def edit(
    home: Path | None, settings_file: Path | None, name: str, changes: tuple[str, ...], file: Path | None, as_json: bool
) -> None:
    """Change keys of the profile of a job while it runs, or before it goes on.

    CHANGE is KEY=VALUE, such as politeness.min_delay_seconds=10, robots=ignore, hops=3 or limits.urls=null. For the
    lists include, exclude, rules, sheets, quotas and groups, KEY+=LINE adds a line at the end, and KEY-=LINE removes
    one, such as "rules+=REJECT SurtPrefixed http://(org,example,shop,". Other keys that can be edited are
    max_url_length, max_path_segments, max_path_repeats, embed_hops, speculative_hops, redirect_hops, least_delays and
    max_links.

    All workers obey from their next URL on, and the edits hold after a restart. Visits and pauses in progress end as
    they would have ended. Queued URLs that a narrower scope rejects end with code -5000 when their turn comes. Links
    that were rejected before stay rejected when the scope becomes wider.

    \b
    Exit codes:
      0  the edits were made
      2  an edit can't be used, and nothing was changed; all problems are named
      6  Redis has no queues of the job
    """
    from admin.jobs.control import queues
    from frontier.definition.edits import ProfileEditRefused
    from frontier.definition.job import JobError

    if not changes and file is None:
        raise InputError("there is no change; write for example politeness.min_delay_seconds=10")
    with steering_errors():
        target = target_of(home, settings_file, name)
        with queues.opened(target) as frontier:
            try:
                profile = frontier.stored_job().profile
                values = _merged(_of_file(file, profile), _of_changes(changes))
                edits = queues.edit(target, frontier, values)
            except ProfileEditRefused as error:
                raise _refused(each.message for each in error.problems) from error
            except JobError as error:
                raise InputError(str(error)) from error
    _print(edits, as_json=as_json)
    if not edits and not as_json:
        click.echo(f"{target.name} has these values already")


@click.command("edits")
@common
@_NAME
@click.option("--patch", is_flag=True, help="Print the edits as a profile, which others can name in `extends`.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per edit.")
def edits(home: Path | None, settings_file: Path | None, name: str, patch: bool, as_json: bool) -> int:
    """Show who changed which keys of the profile of a job, when, from what and to what.

    Of a list with more than 200 lines, an edit shows the changed lines, with one line before and one behind them.

    With --patch, the values in force are printed as a profile. Exit code 1 when an edit has removed lines of a list, or
    has put a rule before others, which a patch can't do; these lines are named.
    """
    from admin.jobs.control import queues
    from frontier.definition.edits import patch_of
    from frontier.definition.heritrix.profile import yaml_text

    with steering_errors():
        target = target_of(home, settings_file, name)
        with queues.opened(target) as frontier:
            found = frontier.edits()
    if not patch:
        _print(found, as_json=as_json)
        if not found and not as_json:
            click.echo(f"the profile of {target.name} was not edited")
        return 0
    made = patch_of(found)
    click.echo(yaml_text(dict(made.values), [f"Edits of the job {target.name}"]), nl=False)
    for line in made.removed:
        click.echo(f"ghostfleet: remove this line from the profile by hand: {line}", err=True)
    for line in made.misplaced:
        click.echo(f"ghostfleet: write this rule at its place in the profile by hand: {line}", err=True)
    return int(bool(made.removed or made.misplaced))


def _print(found: Iterable[ProfileEdit], *, as_json: bool) -> None:
    from archive.dates import iso_second

    for each in found:
        text = f"{iso_second(each.time)} {each.by or '-'} {each.place}: {_shown(each.before)} -> {_shown(each.after)}"
        click.echo(json.dumps(asdict(each), ensure_ascii=False) if as_json else text)


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _of_file(file: Path | None, profile: Profile) -> dict[str, Any]:
    """Return the values that a profile file sets itself, or takes from others. Raises InputError.

    The rules, patterns and sheets of the file are added to those of the job, as a profile adds its own to those of
    another one.
    """
    from frontier.definition.profile import check_profile
    from frontier.definition.profile_files import JOINED, assembled

    if file is None:
        return {}
    if errors := check_profile(file).errors:
        raise _refused(each.text for each in errors)
    values = assembled(file).values
    for key in JOINED:
        if key in values:
            known = set(getattr(profile, key))
            values[f"{key}+"] = [line for line in values.pop(key) if line not in known]
    return values


def _refused(problems: Iterable[str]) -> InputError:
    """Return the error of edits that can't be used, of whose problems all but the last are printed here."""
    *others, last = problems
    for text in others:
        click.echo(f"ghostfleet: {text}", err=True)
    return InputError(f"{last}\nghostfleet: nothing was changed")


def _of_changes(changes: Iterable[str]) -> dict[str, Any]:
    """Return the values of `KEY=VALUE`, `KEY+=LINE` and `KEY-=LINE`, nested. Raises InputError.

    The path of a list file that a rule names is relative to the present folder.
    """
    from frontier.definition.edits import LISTS
    from frontier.definition.profile_files import with_list_path

    found: dict[str, Any] = {}
    for change in changes:
        key, equals, text = change.partition("=")
        name = key.rstrip("+-")
        if not equals or not name:
            raise InputError(f"{change[:100]!r} is no change; write for example politeness.min_delay_seconds=10")
        if name in LISTS or name != key:
            line = with_list_path(text, Path.cwd()) if name == "rules" else text
            found.setdefault(key, []).extend([line] if text else [])
        else:
            table, _, own = key.rpartition(".")
            place = found.setdefault(table, {}) if table else found
            if not isinstance(place, dict):
                raise InputError(
                    f"{change[:100]!r} sets a key of {table}, which another change sets; leave one of them out"
                )
            place[own] = _value(text)
    return found


def _value(text: str) -> Any:
    """Return a value as YAML and JSON have it; a text that is neither is a text."""
    try:
        return json.loads(text)
    except ValueError:
        return None if text == "none" else text


def _merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    merged = dict(first)
    for key, value in second.items():
        if isinstance(value, dict) and isinstance(merged.get(key), dict):
            value = {**merged[key], **value}
        elif key.endswith(("+", "-")):
            value = [*merged.get(key, ()), *value]
        merged[key] = value
    return merged


COMMANDS: Final = (edit, edits)
