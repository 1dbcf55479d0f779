"""admin/api: operations become routes with checked arguments, problem documents, ETags and an OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask, Request
from flask.testing import FlaskClient
from support.admin.job_rows import add_channel, add_domain, add_harvest, add_job
from support.each_value import each_value

from admin.api.blueprint import MAX_BODY, PREFIX, make_blueprint
from admin.api.problems import PROBLEM_TYPE
from admin.harvests.dispatch.operations import OPERATIONS
from admin.models.database import Database
from admin.models.operation import Operation, OutputModel
from admin.models.people_tables import Role
from admin.models.transaction import COMMAND_LINE, Actor, Door, Right, Transaction
from admin.models.validation import MOST_PROBLEMS

ACTORS = {f"Bearer {role}": Actor(role, role, Door.API) for role in Role}


class Counted(OutputModel):
    """How many lines an upload had, and how long the longest was."""

    lines: int
    longest: int


def count_lines(transaction: Transaction, lines: Iterator[bytes]) -> Counted:
    sizes = [len(line) for line in lines]
    return Counted(lines=len(sizes), longest=max(sizes, default=0))


UPLOAD = Operation(
    "upload.count", "POST", "/upload", Right.CURATE, count_lines, "Count lines.", output=Counted, takes_lines=True
)


def authenticate(request: Request) -> Actor | None:
    return ACTORS.get(request.headers.get("Authorization", ""))


@pytest.fixture
def client(sqlite_database: Database) -> FlaskClient:
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        add_domain(transaction, "example.org")
        harvest = add_harvest(transaction, add_channel(transaction))
        for _ in range(3):
            add_job(transaction, harvest)
    app = Flask(__name__)
    app.register_blueprint(make_blueprint(sqlite_database, [*OPERATIONS, UPLOAD], authenticate))
    return app.test_client()


def asked(client: FlaskClient, method: str, path: str, role: Role = Role.ADMINISTRATOR, **more: Any) -> Any:
    headers = {"Authorization": f"Bearer {role}", **more.pop("headers", {})}
    return client.open(PREFIX + path, method=method, headers=headers, **more)


def test_the_document_names_every_operation(client: FlaskClient) -> None:
    document = client.get(f"{PREFIX}/openapi.json").get_json()
    named = {each["operationId"] for path in document["paths"].values() for each in path.values()}
    assert named == {operation.name for operation in (*OPERATIONS, UPLOAD)}


def test_without_a_token_there_is_a_401_that_says_what_to_do(client: FlaskClient) -> None:
    answer = client.get(f"{PREFIX}/jobs")
    assert (answer.status_code, answer.content_type) == (401, PROBLEM_TYPE)
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_lists_are_paged(client: FlaskClient) -> None:
    first = asked(client, "GET", "/jobs?limit=2").get_json()
    assert ([each["id"] for each in first["items"]], first["next"], first["total"]) == ([3, 2], "2", 3)
    second = asked(client, "GET", f"/jobs?limit=2&after={first['next']}").get_json()
    assert ([each["id"] for each in second["items"]], second["next"]) == ([1], None)


@each_value(
    ("path", "field"),
    [
        ("/jobs?limit=many", "limit"),
        ("/jobs?colour=red", "colour"),
        ("/jobs?status=HAPPY", "status"),
        ("/jobs?limit=1&limit=2", "limit"),
        ("/jobs/seven", "job_id"),
        ("/jobs/1?job_id=2", "job_id"),
        ("/jobs?after=" + "9" * 30, "after"),
        ("/jobs?channel=" + "x" * 20_000, "channel"),
    ],
)
def test_parameters_that_can_not_be_used_are_named(client: FlaskClient, path: str, field: str) -> None:
    answer = asked(client, "GET", path)
    assert (answer.status_code, answer.content_type) == (422, PROBLEM_TYPE)
    assert [each["field"] for each in answer.get_json()["problems"]] == [field]


@each_value(
    "body",
    [
        b"{",
        b"[1, 2]",
        b'"text"',
        b'{"verb": "explode"}',
        b'{"verb": "pause", "extra": 1}',
        b"[" * 100_000,
        b'{"verb": "' + b"x" * MAX_BODY + b'"}',
        b"\xff\xfe",
        b"null",
        b"{" + b",".join(b'"k%d":1' % number for number in range(50_000)) + b"}",
        b'{"verb": "add_seeds", "urls": [' + b",".join([b"1"] * 200_000) + b"]}",
    ],
)
def test_bodies_that_can_not_be_used_are_problems(client: FlaskClient, body: bytes) -> None:
    answer = asked(client, "POST", "/jobs/1/commands", data=body, content_type="application/json")
    assert (answer.status_code, answer.content_type) == (413 if len(body) > MAX_BODY else 422, PROBLEM_TYPE)
    assert len(answer.data) < 20_000
    assert len(answer.get_json().get("problems", ())) <= MOST_PROBLEMS


def test_what_is_missing_and_what_conflicts_have_their_codes(client: FlaskClient) -> None:
    assert asked(client, "GET", "/jobs/99").status_code == 404
    answer = asked(client, "POST", "/jobs/1/commands", json={"verb": "pause"})
    assert answer.status_code == 409
    assert answer.get_json()["type"] == "urn:ghostfleet:problem:illegal-state"


def test_a_change_may_name_the_edition_in_if_match(client: FlaskClient) -> None:
    made = asked(client, "POST", "/channels", json={"name": "VIDEO"})
    assert made.status_code == 201
    tag = made.headers["ETag"]
    changed = asked(
        client, "PUT", "/channels/VIDEO", json={"name": "VIDEO", "comments": "a"}, headers={"If-Match": tag}
    )
    assert (changed.status_code, changed.get_json()["edition"]) == (200, 2)
    late = asked(client, "PUT", "/channels/VIDEO", json={"name": "VIDEO", "comments": "b"}, headers={"If-Match": tag})
    assert (late.status_code, late.get_json()["type"]) == (412, "urn:ghostfleet:problem:edit-conflict")
    body = {"name": "VIDEO", "comments": "c"}
    in_body = asked(client, "PUT", "/channels/VIDEO", json={**body, "edition": 1})
    assert (in_body.status_code, in_body.get_json()["type"]) == (409, "urn:ghostfleet:problem:edit-conflict")
    without = asked(client, "PUT", "/channels/VIDEO", json=body)
    assert (without.status_code, without.get_json()["type"]) == (428, "urn:ghostfleet:problem:edition-missing")
    for tags, status in (
        ('"no-number"', 412),
        ('"1-a", "2-b"', 412),
        ("*", 200),
        ('W/"3-x"', 200),
        (f'"{"9" * 30}"', 412),
    ):
        answer = asked(client, "PUT", "/channels/VIDEO", json=body, headers={"If-Match": tags})
        assert (answer.status_code, answer.content_type == PROBLEM_TYPE) == (status, status != 200), tags


def test_a_body_of_another_type_is_a_415(client: FlaskClient) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = asked(client, "POST", "/channels", data=b'{"name": "VIDEO"}', content_type=kind)
        assert (answer.status_code, answer.content_type) == (415, PROBLEM_TYPE)


def test_a_list_links_to_its_next_page(client: FlaskClient) -> None:
    first = asked(client, "GET", "/jobs?limit=1&channel=FOCUSED")
    items = [each["id"] for each in first.get_json()["items"]]
    answer = first
    while "Link" in answer.headers:
        target = answer.headers["Link"].partition(">")[0].removeprefix(f"<{PREFIX}")
        assert "channel=FOCUSED" in target
        answer = asked(client, "GET", target)
        items += [each["id"] for each in answer.get_json()["items"]]
    assert items == [3, 2, 1]


def test_head_and_options_are_answered(client: FlaskClient) -> None:
    whole, head = asked(client, "GET", "/jobs/1"), asked(client, "HEAD", "/jobs/1")
    assert (head.status_code, head.data, head.headers["ETag"]) == (200, b"", whole.headers["ETag"])
    assert set(asked(client, "OPTIONS", "/channels/FOCUSED").allow) == {"GET", "HEAD", "PUT", "DELETE", "OPTIONS"}


def test_a_put_may_be_repeated(client: FlaskClient) -> None:
    made = asked(client, "POST", "/channels", json={"name": "VIDEO"}).get_json()
    body = {"name": "VIDEO", "comments": "again"}
    both = [asked(client, "PUT", "/channels/VIDEO", json=body, headers={"If-Match": "*"}).get_json() for _ in range(2)]
    assert [{**each, "edition": 0} for each in both] == [{**made, "comments": "again", "edition": 0}] * 2


def test_what_has_not_changed_is_a_304(client: FlaskClient) -> None:
    first = asked(client, "GET", "/jobs/1")
    again = asked(client, "GET", "/jobs/1", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")


def test_downloads_are_never_shown_as_pages(client: FlaskClient) -> None:
    answer = asked(client, "GET", "/jobs/1/seeds")
    assert answer.data == b"http://www.example.org/\n"
    assert answer.headers["Content-Disposition"] == "attachment"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_an_upload_comes_line_by_line_and_long_lines_shortened(client: FlaskClient) -> None:
    data = b"one\r\ntwo\n" + b"x" * 10_000_000 + b"\nlast"
    assert asked(client, "POST", "/upload", data=data).get_json() == {"lines": 4, "longest": 1_000_001}


def test_a_reader_may_not_upload_and_nothing_is_read(client: FlaskClient) -> None:
    assert asked(client, "POST", "/upload", Role.READER, data=b"x").status_code == 403


def test_a_404_outside_of_the_operations_tells_no_secrets(client: FlaskClient) -> None:
    assert json.dumps(asked(client, "GET", "/none").data.decode()).find("Traceback") < 0
