"""admin/curation/descriptions: states, Dublin Core fields, tags and exclusions, with their audit entries."""

from __future__ import annotations

from typing import Any

import pytest
from support.admin.site_users import actions, person

from admin.curation.descriptions.describe import (
    DescriptionChange,
    describe_capture,
    describe_collection,
    list_descriptions,
    show_description,
)
from admin.curation.descriptions.exclusions import (
    ExclusionCreation,
    create_exclusion,
    list_exclusions,
    remove_exclusion,
    rewrite_rules,
)
from admin.curation.descriptions.rule_files import curation_rules
from admin.curation.descriptions.states import TRANSITIONS
from admin.models.curation_tables import CurationExclusion, CurationState
from admin.models.database import Database
from admin.models.errors import EditConflict, Forbidden, IllegalState, InvalidInput, NotFound
from admin.models.people_tables import Role
from admin.models.transaction import COMMAND_LINE
from archive.access_rules import CURATION_FILE, Access, AccessControl, load
from archive.settings.load import Settings


@pytest.fixture
def news(settings: Settings) -> None:
    settings.archive_dir("news").mkdir(parents=True)


def change(database: Database, **values: Any) -> Any:
    with database.transaction(COMMAND_LINE) as transaction:
        return describe_collection(transaction, "news", DescriptionChange(**values))


@pytest.mark.usefixtures("news")
def test_a_description_keeps_its_fields_and_leaves_audit_entries(database: Database) -> None:
    made = change(database, dublin_core={"rights": (" CC0 ",), "title": ("A", "", "B", "A")}, tags=("press", "press"))
    assert list(made.dublin_core.items()) == [("title", ["A", "B"]), ("rights", ["CC0"])]
    assert (made.tags, made.edition, made.state) == (["press"], 1, CurationState.DRAFT)
    change(database, tags=("press",))
    with pytest.raises(EditConflict):
        change(database, tags=("late",), edition=1)
    with database.reading(COMMAND_LINE) as transaction:
        assert show_description(transaction, "news").tags == ["press"]
        assert [each.collection for each in list_descriptions(transaction, tag="press").items] == ["news"]
    assert actions(database).count("description.change") == 1


@pytest.mark.usefixtures("news")
def test_states_follow_the_table_and_a_rejection_needs_a_reason(sqlite_database: Database) -> None:
    assert set(TRANSITIONS) == set(CurationState)
    with pytest.raises(IllegalState, match="in-review"):
        change(sqlite_database, state=CurationState.APPROVED)
    with pytest.raises(InvalidInput, match="reason"):
        change(sqlite_database, state=CurationState.REJECTED)
    for state in (CurationState.IN_REVIEW, CurationState.ENDORSED, CurationState.APPROVED):
        assert change(sqlite_database, state=state).state is state


@pytest.mark.usefixtures("news")
@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"dublin_core": {"colour": ("red",)}}, "colour"),
        ({"dublin_core": {"title": ("x" * 10_001,)}}, "title"),
        ({"dublin_core": {"title": ("x",) * 101}}, "title"),
        ({"tags": ("a,b",)}, "tags"),
        ({"tags": ("",)}, "tags"),
        ({"reason": "x" * 200_000}, "reason"),
        ({"embargo_until": 1, "lift_embargo": True}, "embargo_until"),
    ],
)
def test_bad_input_names_its_field(sqlite_database: Database, values: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput, match=field) as refused:
        change(sqlite_database, **values)
    assert "\n" not in str(refused.value)


@pytest.mark.usefixtures("news")
def test_exclusions_need_a_reason_and_end(sqlite_database: Database, settings: Settings) -> None:
    path = settings.collection("news") / CURATION_FILE
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        made = create_exclusion(transaction, "news", ExclusionCreation(url="*.example.org", reason="asked by letter"))
        for url, reason, field in (
            ("*.example.org", "x", "already"),
            ("a.org", " ", "reason"),
            ("two words", "x", "url"),
            ("*.example.net/private/", "x", "url"),
        ):
            with pytest.raises(InvalidInput, match=field):
                create_exclusion(transaction, "news", ExclusionCreation(url=url, reason=reason))
    rules = AccessControl(settings.home / "collections").rules("news")
    assert rules.decide("https://sub.example.org/x", 0) is Access.EXCLUDE
    path.unlink()
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        rewrite_rules(transaction, "news")
    assert len(load(path).rules) == 1
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        remove_exclusion(transaction, "news", made.id)
        assert list_exclusions(transaction, "news").items == []
        with pytest.raises(NotFound):
            remove_exclusion(transaction, "news", made.id)
    assert load(path).rules == ()


@pytest.mark.parametrize(
    ("stored", "key"),
    [
        ("*.example.org/private/", "org,example"),
        ("*.https://example.org/a", "org,example"),
        ("http://example.org/*.a/b", "org,example)/*.a/b"),
    ],
)
def test_an_exclusion_that_was_stored_with_a_path_behind_a_domain_still_hides_the_domain(stored: str, key: str) -> None:
    (rule,) = curation_rules((), (CurationExclusion(collection="news", url=stored, reason="x"),)).rules
    assert rule.key == key


@pytest.mark.usefixtures("news")
def test_readers_and_unknown_things_are_refused(sqlite_database: Database) -> None:
    reader = person(sqlite_database, "rita", Role.OPERATOR)
    with sqlite_database.transaction(reader) as transaction, pytest.raises(Forbidden):
        describe_collection(transaction, "news", DescriptionChange(tags=("mine",)))
    with sqlite_database.transaction(COMMAND_LINE) as transaction, pytest.raises(NotFound):
        describe_collection(transaction, "other", DescriptionChange())
    for url, stamp in (("http://", "20260101000000"), ("http://example.org/", "2026")):
        with sqlite_database.transaction(COMMAND_LINE) as transaction, pytest.raises(InvalidInput):
            describe_capture(transaction, "news", DescriptionChange(), url=url, timestamp=stamp)
