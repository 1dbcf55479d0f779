"""A domain has any number of seed lists; its configurations say which of them they use."""

from __future__ import annotations

from typing import Any, Final

from pydantic import Field

from admin.harvests.domains.lookup import find_domain, find_seed_list, listed_names
from admin.harvests.domains.seeds import seed_lines, seed_problems, tidy
from admin.harvests.input_checks import differences, name_problem, note_problem, refuse
from admin.models.domain_tables import Domain, SeedList
from admin.models.errors import IllegalState, Problem
from admin.models.operation import InputModel, OutputModel, Page
from admin.models.transaction import Right, Transaction

MOST_SEED_LISTS: Final = 1_000
_AUDITED_CHARACTERS: Final = 10_000


class SeedListItem(OutputModel):
    """A seed list without its seeds."""

    name: str
    comments: str
    seeds: int
    """How many lines are seeds."""
    edition: int


class SeedListCreation(InputModel):
    """The input has a new seed list."""

    name: str
    seeds: str = Field("", description="one URL on each line; blank lines and lines that begin with # are kept")
    comments: str = ""


class SeedListChange(InputModel):
    """The input says what changes about a seed list; what is left out stays as it is."""

    name: str | None = None
    seeds: str | None = None
    comments: str | None = None
    edition: int | None = None


class SeedListView(OutputModel):
    """A seed list with its seeds."""

    domain: str
    name: str
    seeds: str
    comments: str
    configurations: list[str]
    """Names of the configurations that use the list."""
    edition: int


def create_seed_list(transaction: Transaction, domain: str, given: SeedListCreation) -> SeedListView:
    """Add a seed list to a domain. Raises InvalidInput with the line of every seed that can't be used."""
    transaction.require(Right.CURATE)
    row = find_domain(transaction, domain, lock=True)
    refuse(
        (
            name_problem("name", given.name),
            _taken(row, given.name),
            note_problem("comments", given.comments),
            *seed_problems(given.seeds, transaction.settings.harvests.seed_regex),
        )
    )
    if len(row.seed_lists) >= MOST_SEED_LISTS:
        raise IllegalState(f"{row.name} has {len(row.seed_lists)} seed lists; delete one first")
    seed_list = SeedList(name=given.name, seeds=tidy(given.seeds), comments=given.comments)
    row.seed_lists.append(seed_list)
    transaction.session.flush()
    new = {**_audited(seed_list.seeds), "comments": given.comments}
    transaction.audit("seed-list.create", "seed list", seed_list.id, _full_name(row, given.name), new=new)
    return _view(row, seed_list)


def change_seed_list(transaction: Transaction, domain: str, name: str, given: SeedListChange) -> SeedListView:
    """Change the name, the seeds or the comments of a seed list. Raises InvalidInput."""
    transaction.require(Right.CURATE)
    row = find_domain(transaction, domain, lock=True)
    seed_list = find_seed_list(row, name)
    transaction.check_edition("seed list", _full_name(row, name), seed_list, given.edition)
    pattern = transaction.settings.harvests.seed_regex
    refuse(
        (
            name_problem("name", given.name, name) if given.name is not None else None,
            _taken(row, given.name) if given.name not in (None, name) else None,
            note_problem("comments", given.comments or ""),
            *(seed_problems(given.seeds, pattern) if given.seeds is not None else ()),
        )
    )
    before = {"name": name, "comments": seed_list.comments, "seeds": seed_list.seeds}
    after: dict[str, Any] = {**before, **given.model_dump(exclude={"edition"}, exclude_none=True)}
    after["seeds"] = tidy(after["seeds"])
    seed_list.name, seed_list.comments, seed_list.seeds = after["name"], after["comments"], after["seeds"]
    if changed := differences({**before, **_audited(before["seeds"])}, {**after, **_audited(after["seeds"])}):
        transaction.audit(
            "seed-list.change", "seed list", seed_list.id, _full_name(row, name), old=changed[0], new=changed[1]
        )
    transaction.session.flush()
    return _view(row, seed_list)


def delete_seed_list(transaction: Transaction, domain: str, name: str) -> None:
    """Delete a seed list. Raises IllegalState when a configuration uses it."""
    transaction.require(Right.CURATE)
    row = find_domain(transaction, domain, lock=True)
    seed_list = find_seed_list(row, name)
    if users := _users(row, seed_list):
        raise IllegalState(
            f"the seed list {name!r} of {row.name} is used by the configurations {listed_names(users)};"
            " take it out of them first"
        )
    old = {**_audited(seed_list.seeds), "comments": seed_list.comments}
    transaction.audit("seed-list.delete", "seed list", seed_list.id, _full_name(row, name), old=old)
    row.seed_lists.remove(seed_list)
    transaction.session.flush()


def show_seed_list(transaction: Transaction, domain: str, name: str) -> SeedListView:
    """Return a seed list with its seeds and comments as they were written."""
    transaction.require(Right.READ)
    row = find_domain(transaction, domain)
    return _view(row, find_seed_list(row, name))


def list_seed_lists(transaction: Transaction, domain: str) -> Page[SeedListItem]:
    """List the seed lists of a domain without their seeds."""
    transaction.require(Right.READ)
    row = find_domain(transaction, domain)
    return Page(items=seed_list_items(row), total=len(row.seed_lists))


def seed_list_items(row: Domain) -> list[SeedListItem]:
    """Return the seed lists of a domain without their seeds."""
    return [
        SeedListItem(name=each.name, comments=each.comments, seeds=_count(each.seeds), edition=each.edition)
        for each in row.seed_lists
    ]


def _taken(row: Domain, name: str | None) -> Problem | None:
    if name in {each.name for each in row.seed_lists}:
        return Problem("name", f"{row.name} has a seed list {name!r} already; write another name")
    return None


def _users(row: Domain, seed_list: SeedList) -> list[str]:
    return [each.name for each in row.configurations if seed_list in each.seed_lists]


def _view(row: Domain, seed_list: SeedList) -> SeedListView:
    return SeedListView(
        domain=row.name,
        name=seed_list.name,
        seeds=seed_list.seeds,
        comments=seed_list.comments,
        configurations=_users(row, seed_list),
        edition=seed_list.edition,
    )


def _audited(seeds: str) -> dict[str, Any]:
    """Return the seeds as the audit keeps them: whole when they are few."""
    if len(seeds) <= _AUDITED_CHARACTERS:
        return {"seeds": seeds}
    return {"seeds": seeds[:_AUDITED_CHARACTERS] + "…", "seeds_count": _count(seeds)}


def _count(seeds: str) -> int:
    return sum(1 for _ in seed_lines(seeds))


def _full_name(row: Domain, name: str) -> str:
    return f"{row.name}: {name}"
