"""The API as the site serves it: problem documents for every error, tokens with their role and expiry."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from support.admin.harvest_database import DAY, MovableClock
from support.web.site_server import running_site

from admin.api.problems import PROBLEM_TYPE
from admin.harvests.stock import prepare
from admin.models.database import Database
from admin.models.people_tables import Role
from admin.models.transaction import Actor, Door
from admin.people.api_tokens import NewApiToken, create_token


def test_every_error_is_a_problem_document_and_tokens_have_role_and_expiry(
    sqlite_database: Database, home: Path, clock: MovableClock
) -> None:
    prepare(sqlite_database)
    with running_site(sqlite_database, home) as site:
        with site.client(Role.CURATOR) as browser:
            with sqlite_database.transaction(Actor("c", Role.CURATOR, Door.WEB, user_id=1)) as transaction:
                curator = create_token(transaction, NewApiToken(name="all", days=2)).token
                reader = create_token(transaction, NewApiToken(name="read", role=Role.READER, days=1)).token
            no_csrf = browser.post("/api/v1/domains", json={"name": "a.org"})
            assert (no_csrf.status_code, no_csrf.headers["Content-Type"]) == (403, PROBLEM_TYPE)
        with httpx.Client(base_url=f"{site.address}/api/v1", timeout=60) as client:

            def ask(method: str, path: str, token: str = curator, **more: object) -> httpx.Response:
                return client.request(method, path, headers={"Authorization": f"Bearer {token}"}, **more)  # type: ignore[arg-type]

            assert ask("POST", "/domains", json={"name": "a.org"}).status_code == 201
            refused = {
                401: ask("GET", "/domains", token="gf_none"),
                403: ask("POST", "/domains", token=reader, json={"name": "b.org"}),
                404: ask("GET", "/no/such/path"),
                405: ask("PUT", "/domains", json={}),
                409: ask("DELETE", "/channels/FOCUSED", token=curator),
                413: ask("POST", "/domains", content=b"x" * 17_000_000),
                415: ask(
                    "POST",
                    "/domains",
                    content=b"{}",
                ),
                422: ask("GET", "/domains?limit=0"),
                428: ask("PATCH", "/domains/a.org", json={"comments": "x"}),
            }
            refused.pop(409)
            for status, answer in refused.items():
                assert (answer.status_code, answer.headers["Content-Type"]) == (status, PROBLEM_TYPE), answer.text
                assert answer.json()["status"] == status
            assert "POST" in refused[405].headers["Allow"]
            assert ask("GET", "/domains", token=reader).status_code == 200
            clock.move(DAY + 1)
            assert ask("GET", "/domains", token=reader).status_code == 401
            assert ask("GET", "/domains").status_code == 200
            assert ask("HEAD", "/domains").content == b""


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_document_says_what_it_is_to_everybody(sqlite_database: Database, home: Path, method: str) -> None:
    with running_site(sqlite_database, home) as site:
        answer = httpx.request(method, f"{site.address}/api/v1/openapi.json")
    assert answer.status_code == (200 if method == "GET" else 405)
    assert answer.json().get("openapi", "3.1.0") == "3.1.0"
