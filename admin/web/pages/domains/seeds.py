"""These pages show the seed lists of a domain, and make, change and delete them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from flask import Blueprint
from werkzeug.wrappers import Response

from admin.harvests.domains import seed_lists as use_cases
from admin.harvests.domains.domain import show_domain
from admin.harvests.domains.names import unicode_name
from admin.harvests.domains.seed_lists import SeedListChange, SeedListCreation, SeedListView
from admin.harvests.domains.seeds import seed_lines
from admin.models.transaction import Right
from admin.web.forms.form import Form
from admin.web.page import carry_out, done, needs, page, read, saving, with_long_lists

BLUEPRINT: Final = Blueprint("seed_lists", __name__, url_prefix="/<name>/seed-lists")
_MOST_SHOWN: Final = 1_000


@dataclass(frozen=True, slots=True)
class ForeignSeed:
    """A seed whose host is written in ASCII, and the name that people write."""

    seed: str
    host: str


@BLUEPRINT.route("/new", methods=["GET", "POST"], endpoint="create")
@with_long_lists
@needs(Right.CURATE)
def create(name: str) -> Response:
    """Add a seed list to a domain."""
    domain = read(show_domain, name)
    form = Form({"name": "", "seeds": "", "comments": ""})
    if form.is_sent and (made := form.run(saving(use_cases.create_seed_list, name), SeedListCreation)) is not None:
        return done(f"Seed list {made.name} was made.", "domains.show", name=domain.name)
    return _page(form, domain.name, None)


@BLUEPRINT.route("/<seed_list>", methods=["GET", "POST"], endpoint="edit")
@with_long_lists
@needs(Right.READ, changes=Right.CURATE)
def edit(name: str, seed_list: str) -> Response:
    """Show a seed list, and change it."""
    found = read(use_cases.show_seed_list, name, seed_list)
    form = Form(_values(found))
    if form.is_saved_by(
        saving(use_cases.change_seed_list, name, seed_list),
        SeedListChange,
        present=lambda: _values(read(use_cases.show_seed_list, name, seed_list)),
    ):
        return done("The seeds were saved.", "domains.show", name=found.domain)
    return _page(form, found.domain, found)


@BLUEPRINT.post("/<seed_list>/delete", endpoint="delete")
@needs(Right.CURATE)
def delete(name: str, seed_list: str) -> Response:
    """Delete a seed list that no configuration uses."""
    carry_out(use_cases.delete_seed_list, name, seed_list)
    return done(f"Seed list {seed_list} was deleted.", "domains.show", name=name)


def foreign_seeds(text: str) -> Sequence[ForeignSeed]:
    """Return the seeds whose host has letters beyond ASCII, with the name that people write. Pure."""
    found: list[ForeignSeed] = []
    for seed in seed_lines(text):
        try:
            host = urlsplit(seed).hostname or ""
        except ValueError:
            continue
        if (name := unicode_name(host)) != host:
            found.append(ForeignSeed(seed, name))
            if len(found) == _MOST_SHOWN:
                break
    return found


def _values(found: SeedListView) -> dict[str, Any]:
    return {"name": found.name, "seeds": found.seeds, "comments": found.comments, "edition": found.edition}


def _page(form: Form, domain: str, found: SeedListView | None) -> Response:
    status = 422 if form.has_problems else 200
    foreign = foreign_seeds(found.seeds) if found is not None else ()
    return page("domains/seeds.html", status, name=domain, seed_list=found, form=form, foreign=foreign)
