"""Check the names of collections on the command line, complete them in the shell, and suggest the nearest name."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from archive.settings.load import Settings

_MAX_NAMED: Final = 12


class CollectionName(click.ParamType[str]):
    """The parameter is the name of a collection. The shell completes it with the collections in the home."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name. A name that no collection can have is a usage error."""
        from archive.names.name_rules import checked_name

        try:
            return checked_name("collection", str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the collections whose names begin with `incomplete`; none when the settings can't be read."""
        from admin.fleet.home_folder import collections
        from archive.settings.load import SettingsError, load

        home, file = ctx.params.get("home"), ctx.params.get("settings_file")
        try:
            known = collections(load({"home": str(home) if home else None}, file=Path(file) if file else None))
        except (SettingsError, OSError):
            return []
        given = ctx.params.get(param.name or "")
        taken = set(given) if isinstance(given, tuple) else set()
        return [CompletionItem(name) for name in known if name.startswith(incomplete) and name not in taken]


def chosen_collections(settings: Settings, chosen: Sequence[str]) -> tuple[str, ...]:
    """Return the chosen collections, or all of the home if none is chosen. Raises InputError for an unknown name."""
    from admin.fleet.home_folder import collections
    from admin.options import InputError

    known = collections(settings)
    for name in chosen:
        if name not in known:
            raise InputError(no_such_collection(name, known, settings.home))
    return tuple(chosen) or tuple(known)


def chosen_collection(settings: Settings, name: str) -> str:
    """Return the collection of this name. Raises InputError for an unknown name."""
    return chosen_collections(settings, (name,))[0]


def no_such_collection(name: str, known: Sequence[str], home: Path) -> str:
    """Return one line about an unknown name, with the nearest name or a list of all names."""
    if near := difflib.get_close_matches(name, known, n=1, cutoff=0.6):
        return f"there is no collection {name} in {home}; did you mean {near[0]}?"
    more = f" and {len(known) - _MAX_NAMED} more" if len(known) > _MAX_NAMED else ""
    return (
        f"there is no collection {name} in {home}; the collections are: {', '.join(known[:_MAX_NAMED]) or 'none'}{more}"
    )
