"""admin/curation/bulk: many domains are changed at once, after a preview that changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import func, select
from support.admin.harvest_world import World
from support.admin.site_users import actions, person

from admin.curation.bulk.change import BulkAction, BulkChange, BulkReport, change_in_parts, preview_change
from admin.curation.bulk.choice import PART
from admin.curation.bulk.seed_edit import with_address, with_seeds, without_seeds
from admin.models.curation_tables import DomainTag
from admin.models.domain_tables import Configuration, SeedList
from admin.models.errors import Forbidden, InvalidInput, NotFound
from admin.models.people_tables import AuditEntry, Role
from admin.models.transaction import COMMAND_LINE


@pytest.fixture
def three(world: World) -> World:
    for name in ("a.org", "b.org", "c.net"):
        world.domain(name)
    world.template("other")
    world.harvest("news")
    return world


def previewed(world: World, **values: Any) -> BulkReport:
    with world.database.reading(COMMAND_LINE) as transaction:
        return preview_change(transaction, BulkChange(**values))


def changed(world: World, **values: Any) -> BulkReport:
    return change_in_parts(world.database, COMMAND_LINE, BulkChange(**values))


def seeds(world: World) -> list[str]:
    with world.database.reading(COMMAND_LINE) as transaction:
        return [text.strip() for text in transaction.session.scalars(select(SeedList.seeds).order_by(SeedList.id))]


ACTIONS: dict[BulkAction, dict[str, Any]] = {
    BulkAction.SET_TEMPLATE: {"template": "other"},
    BulkAction.SET_LIMITS: {"max_bytes": 5, "max_rate": 7},
    BulkAction.ADD_TAG: {"new_tag": "press"},
    BulkAction.SET_OWNER: {"owner": "Anna"},
    BulkAction.SWITCH_SEEDS_OFF: {},
    BulkAction.MOVE_SEEDS: {"from_scheme": "http", "to_scheme": "https"},
    BulkAction.ADD_TO_HARVEST: {"harvest": "news"},
}


@pytest.mark.parametrize("action", ACTIONS, ids=str)
def test_the_preview_says_what_is_then_done_once(three: World, action: BulkAction) -> None:
    given = {"action": action, "domains": "https://www.a.org/x\nb.org\na.org\n", **ACTIONS[action]}
    before = actions(three.database)
    report = previewed(three, **given)
    assert (report.domains, report.changed, report.is_whole) == (2, 2, True)
    assert actions(three.database) == before
    done = changed(three, **given)
    assert (done.changed, done.changes) == (2, report.changes)
    with three.database.reading(COMMAND_LINE) as transaction:
        entries = transaction.session.scalars(select(AuditEntry).order_by(AuditEntry.id.desc()).limit(2)).all()
        assert len(entries) == 2
        assert all(each.new for each in entries), "the audit has what undoes the change"
    assert changed(three, **given).changed == 0
    opposite = {
        BulkAction.ADD_TAG: BulkAction.REMOVE_TAG,
        BulkAction.SWITCH_SEEDS_OFF: BulkAction.SWITCH_SEEDS_ON,
        BulkAction.ADD_TO_HARVEST: BulkAction.REMOVE_FROM_HARVEST,
    }.get(action)
    if opposite is not None:
        assert changed(three, **{**given, "action": opposite}).changed == 2


def test_a_filter_chooses_more_than_one_part_and_a_tag_chooses_again(three: World) -> None:
    for number in range(PART + 5):
        three.domain(f"many-{number:03}.dk")
    assert changed(three, action=BulkAction.ADD_TAG, tld="dk", new_tag="danish").changed == PART + 5
    report = changed(three, action=BulkAction.REMOVE_TAG, tag="danish", new_tag="danish")
    assert report.changed == PART + 5, "the filter finds fewer domains while their tags are removed"
    with three.database.reading(COMMAND_LINE) as transaction:
        assert transaction.session.scalar(select(func.count(DomainTag.id))) == 0


def test_a_domain_that_can_not_be_changed_is_named_and_the_others_are_changed(three: World) -> None:
    done = changed(three, action=BulkAction.MOVE_SEEDS, domains="a.org\ngone.org\nb.org", to_host="two words")
    assert (done.changed, done.refused) == (0, 3)
    assert any(line.startswith("gone.org: ") for line in done.problems)
    assert seeds(three)[0] == "http://www.a.org/"
    done = changed(three, action=BulkAction.SET_LIMITS, domains="a.org\ngone.org", max_objects=9)
    assert (done.changed, done.refused) == (1, 1)
    with three.database.reading(COMMAND_LINE) as transaction:
        query = select(Configuration.max_objects).order_by(Configuration.id)
        assert transaction.session.scalars(query).all() == [9, -1, -1]


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"action": "add-tag", "new_tag": "x"}, "domains"),
        ({"action": "add-tag", "domains": "a.org"}, "new_tag"),
        ({"action": "set-limits", "domains": "a.org"}, "max_bytes"),
        ({"action": "move-seeds", "domains": "a.org", "to_scheme": "ftp"}, "to_scheme"),
        ({"action": "add-tag", "domains": "a.org\nno domain\n", "new_tag": "x"}, "domains line 2"),
    ],
)
def test_bad_input_names_its_field(three: World, values: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput, match=field):
        previewed(three, **values)


def test_readers_may_not_change_and_unknown_things_are_named(three: World) -> None:
    reader = person(three.database, "rita", Role.READER)
    with pytest.raises(Forbidden):
        change_in_parts(three.database, reader, BulkChange(action=BulkAction.ADD_TAG, search="*", new_tag="x"))
    with pytest.raises(NotFound, match="no-such"):
        previewed(three, action=BulkAction.SET_TEMPLATE, search="*", template="no-such")


def test_seeds_are_switched_and_moved_line_by_line() -> None:
    text = "# a note\nhttp://a.org/x\n\nhttps://user@a.org:81/\nhttp://A.ORG:8080/?u=http://a.org/"
    off = without_seeds(text, "x")
    assert off.split("\n")[1] == "# off: http://a.org/x"
    assert with_seeds(off, "") == text
    moved = with_address(text, "http", "https", "a.org", "b.org").split("\n")
    assert moved[1] == "https://b.org/x"
    assert moved[3] == "https://user@a.org:81/"
    assert moved[4] == "https://b.org:8080/?u=http://a.org/"
