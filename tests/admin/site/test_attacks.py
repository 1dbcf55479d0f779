"""Attacks on the site: scripts in stored texts, redirects, paths, headers, sessions, large requests."""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Dialog, Request
from selectolax.lexbor import LexborHTMLParser
from sqlalchemy import select
from support.admin.job_rows import add_channel, add_domain, add_harvest, add_job
from support.admin.site_users import PASSWORD
from support.each_value import each_value
from support.web.attack_payloads import BEACON, REDIRECTS, SCRIPTS, TRAVERSALS
from support.web.axe_pages import opened_tab
from support.web.security_site import SecuritySite, flask_app, form_token, page_routes
from support.web.site_server import running_site, send_form

from admin.models.database import Database
from admin.models.domain_tables import Domain, SeedList
from admin.models.harvest_tables import Harvest, Schedule, Template, TemplateVersion, TimeUnit
from admin.models.job_tables import HarvestJob, JobCommand, JobSample, JobStatus
from admin.models.people_tables import AuditEntry, Role, User
from admin.models.transaction import COMMAND_LINE, Transaction
from admin.people.throttling import count_attempt
from admin.web.page import SESSION_COOKIE


@pytest.fixture
def secure(sqlite_database: Database, tmp_path: Path) -> Iterator[SecuritySite]:
    with running_site(sqlite_database, tmp_path / "home") as running:
        yield SecuritySite.of(running)


def poisoned(transaction: Transaction, payload: str) -> list[str]:
    """Put the payload into every text that people or harvested sites supply; return the pages that show it.

    The rows are written past the use cases, which refuse many of these texts: pages must escape whatever is stored.
    """
    session = transaction.session
    configuration = add_domain(transaction, "example.org")
    domain = configuration.domain
    domain.unicode_name = domain.comments = payload
    session.add(SeedList(domain_id=domain.id, name="defaultseeds", seeds=payload, comments=payload))
    harvest = add_harvest(transaction, add_channel(transaction, payload), payload)
    harvest.comments = harvest.audience = harvest.collection = harvest.why_inactive = payload
    numbers = []
    for status in (JobStatus.STARTED, JobStatus.FAILED):
        job = add_job(transaction, harvest)
        job.status, job.harvester, job.run_name = status, payload, payload
        job.harvest_error = job.harvest_error_details = job.upload_error = job.upload_error_details = payload
        progress = {"urls": 1, "bytes": 1, "queued": 1, "errors": {payload: 1}, "log": [payload], "title": payload}
        group = {"name": payload, "members": payload, "parallel": 1, "delay_seconds": 0.5, "visited": 1, "hosts": 1}
        progress |= {"groups": [{**group, "waiting": 1, "visits": 1, "due_seconds": 2.5}], "revisits": 7}
        hosts = [{"host": payload, "queued": 1, "why": payload}]
        session.add(JobSample(job_id=job.id, at=transaction.now, state=payload, progress=progress, hosts=hosts))
        session.add(
            JobCommand(
                job_id=job.id, created=1, created_by=payload, verb="add-urls", arguments={"x": payload}, outcome=payload
            )
        )
        numbers.append(job.id)
    template = session.get_one(Template, 1)
    template.comments = payload
    session.add(
        TemplateVersion(
            template_id=1, number=1, text=f"# {payload}\nhops: 1\n", sha256="x", comments=payload, created=1,
            created_by=payload,
        )
    )  # fmt: skip
    session.add(Schedule(name=payload, comments=payload, unit=TimeUnit.DAY))
    session.add(Template(name=payload, comments=payload, created=1))
    for user in session.scalars(select(User)):
        user.full_name = user.email = payload
    session.add(
        AuditEntry(
            at=1, actor=payload, door=payload, address=payload, action=payload, entity=payload, entity_id=payload,
            entity_name=payload, old={payload: payload}, new={payload: payload},
        )
    )  # fmt: skip
    pages = ["/", "/overview/live", "/domains", "/domains/example.org", "/domains/example.org/seed-lists/defaultseeds"]
    pages += ["/harvests", "/schedules", "/templates", "/templates/default", "/templates/default/edit", "/users"]
    pages += ["/jobs", "/fleet", "/audit", "/settings", f"/jobs?domain={httpx.QueryParams({'q': payload})}"]
    pages += [f"/jobs/{number}{part}" for number in numbers for part in ("", "/live", "/domains", "/setup")]
    return pages


def leaves(document: LexborHTMLParser) -> dict[str, int]:
    """How many elements and attributes of each kind a page has."""
    found: dict[str, int] = {}
    for node in document.root.traverse(include_text=False) if document.root is not None else ():
        for name in (node.tag or "", *(f"@{attribute}" for attribute in node.attributes)):
            found[name] = found.get(name, 0) + 1
    return found


MIXTURE = "".join(SCRIPTS[number] for number in (1, 5, 8, 16, 17, 20))
"""An attack of each kind in one text: out of a quoted attribute, a text area and a comment, two handlers, an element.

Wherever one of the attacks would work by itself, the mixture adds elements or attributes too."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "scripts", [pytest.param((MIXTURE,), id="mixture"), pytest.param(SCRIPTS, id="all", marks=pytest.mark.slow)]
)
def test_no_stored_text_becomes_an_element_an_attribute_or_a_script(
    secure: SecuritySite, tmp_path: Path, scripts: tuple[str, ...]
) -> None:
    """Pages with a payload have the elements and attributes that they have with a harmless text, and no others."""
    database, harmless, before = secure.site.database, "harmless", None
    with database.transaction(COMMAND_LINE) as transaction:
        pages = poisoned(transaction, harmless)[:-8]
    rows = ((Domain, ("unicode_name", "comments")), (Harvest, ("name", "comments", "audience", "why_inactive")),
            (HarvestJob, ("harvester", "run_name", "harvest_error", "harvest_error_details", "upload_error")),
            (Template, ("comments",)), (Schedule, ("name", "comments")), (User, ("full_name", "email")),
            (AuditEntry, ("actor", "action", "entity", "entity_id", "entity_name", "address")))  # fmt: skip
    pages += [f"/jobs/{number}{part}" for number in (1, 2) for part in ("", "/live", "/domains", "/setup")]
    wrong = []
    with secure.browser(Role.ADMINISTRATOR) as browser:
        pages = _with_others(browser, pages, tmp_path)
        for payload in (harmless, *scripts):
            with database.transaction(COMMAND_LINE) as transaction:
                for table, columns in rows:
                    for row in transaction.session.scalars(select(table)):
                        for column in columns:
                            setattr(row, column, f"{payload}{row.id}" if column == "name" else payload)
                for sample in transaction.session.scalars(select(JobSample)):
                    sample.state, sample.hosts = payload, [{"host": payload, "queued": 1, "why": payload}]
                    sample.progress = {"urls": 1, "bytes": 1, "queued": 1, "errors": {payload: 1}}
            shapes = {}
            for path in pages:
                answer = browser.get(path)
                assert answer.status_code == 200, (path, payload)
                shapes[path] = leaves(LexborHTMLParser(answer.text))
            if before is None:
                before = shapes
            wrong += [
                (path, payload, {key: count for key, count in shape.items() if count != before[path].get(key, 0)})
                for path, shape in shapes.items()
                if {key: count for key, count in shape.items() if count > before[path].get(key, 0)}
            ]
    assert not wrong


@pytest.mark.browser
@pytest.mark.timeout(600)
@pytest.mark.parametrize("with_others", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["few", "all"])
def test_no_stored_text_runs_in_a_browser(secure: SecuritySite, tmp_path: Path, with_others: bool) -> None:
    with secure.site.database.transaction(COMMAND_LINE) as transaction:
        pages = [path for path in poisoned(transaction, "".join(SCRIPTS[:-6])[:60_000]) if "?" not in path]
    fired: list[str] = []

    def dialog(shown: Dialog) -> None:
        fired.append(f"dialog {shown.message}")
        shown.dismiss()

    def request(sent: Request) -> None:
        if BEACON in sent.url or not sent.url.startswith((secure.site.address, "data:")):
            fired.append(sent.url)

    with secure.browser(Role.ADMINISTRATOR) as browser, opened_tab(secure.site.address, browser) as tab:
        tab.on("dialog", dialog)
        tab.on("request", request)
        for path in _with_others(browser, pages, tmp_path) if with_others else pages:
            answer = tab.goto(path)
            assert answer is not None
            assert answer.status == 200, path
            if tab.evaluate(f"window.{BEACON} === 1"):
                fired.append(f"script on {path}")
    assert not fired


@pytest.mark.timeout(300)
def test_a_login_leads_to_a_path_of_the_site_alone(secure: SecuritySite) -> None:
    with secure.browser(Role.ADMINISTRATOR) as client:
        for target in REDIRECTS:
            client.cookies.delete(SESSION_COOKIE)
            path = str(httpx.URL("/login", params={"next": target}))
            location = send_form(client, path, name="the-administrator", password=PASSWORD).headers["Location"]
            joined = httpx.URL(secure.site.address).join(location.replace("\\", "/"))
            assert f"{joined.scheme}://{joined.netloc.decode()}" == secure.site.address, target
            assert location == "/", target


def test_no_path_leads_out_of_a_folder(secure: SecuritySite, tmp_path: Path) -> None:
    secret = (tmp_path / "home" / "admin.key").read_bytes()
    prefixes = ["/static/", "/", "/api/v1/", "/live/jobs/"]
    prefixes += sorted({re.sub("no-such-thing.*", "", each.path) for each in page_routes(flask_app(tmp_path / "map"))
                        if each.method == "GET" and "no-such-thing" in each.path})  # fmt: skip
    with secure.browser(Role.ADMINISTRATOR) as browser:
        for prefix in prefixes:
            for attempt in TRAVERSALS:
                answer = _raw_get(secure.site.address, prefix + attempt, browser.cookies[SESSION_COOKIE])
                assert secret not in answer, prefix + attempt
                assert b"root:" not in answer, prefix + attempt
                assert not answer.startswith((b"HTTP/1.1 200", b"HTTP/1.1 500")), prefix + attempt


@each_value("host", ["evil.test", "127.0.0.1.evil.test", "evil.test:80", "127.0.0.1@evil.test"])
def test_a_request_for_another_host_is_refused(secure: SecuritySite, host: str) -> None:
    answer = _sent(secure.site.address, f"GET /login HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    assert answer.startswith((b"HTTP/1.1 421", b"HTTP/1.1 400"))


def test_a_forwarded_host_has_no_effect(secure: SecuritySite) -> None:
    with secure.browser(Role.ADMINISTRATOR) as browser:
        headers = {"X-Forwarded-Host": "evil.test", "Forwarded": "host=evil.test", "X-Host": "evil.test"}
        answer = browser.post("/users", data={"csrf_token": form_token(browser), "role": "reader"}, headers=headers)
        assert answer.status_code == 200
        assert "/welcome/" in answer.text
        assert "evil.test" not in answer.text


@each_value(
    "head",
    [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: -1",
        "Content-Length: 5x",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        "Transfer-Encoding : chunked",
    ],
)
def test_a_request_that_could_hide_another_gets_one_answer(secure: SecuritySite, head: str) -> None:
    hidden = b"GET /static/site.css HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    request = f"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\n{head}\r\n\r\n0\r\n\r\n".encode() + hidden
    answer = _sent(secure.site.address, request, server_ends=True)
    assert answer.count(b"HTTP/1.1 ") == 1
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"text/css" not in answer


def test_large_requests_are_bounded(secure: SecuritySite) -> None:
    with secure.browser(Role.ADMINISTRATOR) as browser:
        token = form_token(browser)
        large = browser.post("/domains", content=b"x" * (33 * 1024 * 1024), headers={"Content-Type": FORM})
        assert large.status_code == 413
        piece = b"a" * 1024 * 1024
        chunked = browser.post("/domains", content=iter([piece] * 40), headers={"Content-Type": FORM})
        assert chunked.status_code in (400, 413)
        parts = {f"f{number}": (None, "x") for number in range(25_000)}
        assert browser.post("/domains", files=parts, headers={"X-CSRFToken": token}).status_code == 413
        headers = {"X-CSRFToken": token, "Content-Type": "application/json"}
        deep = browser.post("/api/v1/domains", content=b"[" * 200_000, headers=headers)
        assert deep.status_code == 422
    long = _sent(secure.site.address, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 200_000 + b"\r\n\r\n")
    assert long[:12] in (b"", b"HTTP/1.1 400", b"HTTP/1.1 431")


FORM = "application/x-www-form-urlencoded"


def test_slow_clients_do_not_keep_others_waiting(secure: SecuritySite) -> None:
    """Forty clients that never finish their requests leave the site to everybody else."""
    host, port = _place(secure.site.address)
    held = [socket.create_connection((host, port)) for _ in range(40)]
    try:
        for each in held:
            each.sendall(b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\nx")
        with secure.browser() as browser:
            assert browser.get("/login").status_code == 200
    finally:
        for each in held:
            each.close()


def test_the_session_changes_at_login_and_the_former_one_is_dead(secure: SecuritySite) -> None:
    with secure.site.client() as client:
        client.cookies.set(SESSION_COOKIE, "chosen-by-an-attacker")
        answer = send_form(client, "/login", name="the-administrator", password=PASSWORD)
        cookie = answer.cookies[SESSION_COOKIE]
        assert cookie != "chosen-by-an-attacker"
        set_cookie = next(each for each in answer.headers.get_list("Set-Cookie") if each.startswith(SESSION_COOKIE))
        assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= {each.strip() for each in set_cookie.split(";")}
        client.cookies.clear()
        client.cookies.set(SESSION_COOKIE, cookie)
        again = send_form(client, "/login", name="the-administrator", password=PASSWORD)
        assert again.cookies[SESSION_COOKIE] != cookie
    with secure.site.client() as client:
        client.cookies.set(SESSION_COOKIE, cookie)
        assert client.get("/jobs").status_code == 303, "the former session is dead"


def test_a_forwarded_address_is_not_believed(secure: SecuritySite) -> None:
    most = secure.site.database.settings.people.login_attempts_per_address
    with secure.site.database.transaction(COMMAND_LINE) as transaction:
        for number in range(most):
            count_attempt(transaction, f"name{number}", "127.0.0.1", known_name="")
    with secure.browser() as browser:
        browser.headers["X-Forwarded-For"] = "192.0.2.99"
        browser.headers["Forwarded"] = "for=192.0.2.99"
        answer = send_form(browser, "/login", name="somebody", password="x")
    assert answer.status_code == 401
    assert "too many login attempts" in answer.text


@pytest.mark.timeout(300)
def test_every_answer_has_the_headers_of_a_private_site(secure: SecuritySite, tmp_path: Path) -> None:
    with secure.browser(Role.ADMINISTRATOR) as browser, secure.browser() as nobody:
        paths = [route.path for route in page_routes(flask_app(tmp_path / "map")) if route.method == "GET"]
        answers = [client.get(path) for path in (*paths, "/none", "/api/v1/none", "/api/v1/jobs", "/api/v1/jobs/99")
                   for client in (browser, nobody)]  # fmt: skip
        answers.append(browser.post("/domains"))  # 400
        answers.append(browser.delete("/domains", headers={"X-CSRFToken": form_token(browser)}))  # 405
        answers.append(browser.get("/login", headers={"Host": "evil.test"}))  # 421
    for answer in answers:
        where = f"{answer.request.method} {answer.request.url} {answer.status_code}"
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy, where
        assert "frame-ancestors 'none'" in policy, where
        assert "unsafe" not in policy, where
        assert answer.headers["X-Frame-Options"] == "DENY", where
        assert answer.headers["X-Content-Type-Options"] == "nosniff", where
        assert answer.headers["Referrer-Policy"] == "same-origin", where
        assert re.search("no-store|no-cache", answer.headers["Cache-Control"]), where


def test_names_do_not_become_headers(secure: SecuritySite) -> None:
    name = 'x"\r\nX-Injected: 1\r\n\r\n<b>'
    with secure.browser(Role.ADMINISTRATOR) as browser:
        token = form_token(browser)
        values = {"csrf_token": token, "name": name, "comments": "", "text": "hops: 1\n"}
        answers = [browser.post(path, data=values) for path in ("/templates/new", "/domains", "/harvests/new")]
        quoted = "x%22%0d%0aX-Injected:%201"
        answers += [browser.get(f"/{part}/{quoted}") for part in ("templates", "domains", "harvests", "schedules")]
        answers += [browser.post(f"/harvests/{quoted}/run_now", data={"csrf_token": token})]
        answers += [browser.get(f"/login?next=/{quoted}")]
    assert not [answer for answer in answers if "X-Injected" in answer.headers]


def test_passwords_and_tokens_are_in_no_log_no_address_and_no_audit(
    secure: SecuritySite, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secrets = [PASSWORD, "wrong but secret password"]
    with secure.browser(Role.ADMINISTRATOR) as client:
        secrets.append(client.cookies[SESSION_COOKIE])
        client.cookies.clear()
        answers = [send_form(client, "/login", name="the-administrator", password=word) for word in secrets[:2][::-1]]
        made = client.post("/api/v1/tokens", json={"name": "t"}, headers={"X-CSRFToken": form_token(client)})
        if made.status_code == 201:
            secrets.append(made.json()["token"])
            client.get("/api/v1/jobs", headers={"Authorization": f"Bearer {secrets[-1]}"})
        audit = client.get("/api/v1/audit?limit=100").text
    logged = "\n".join(record.getMessage() for record in caplog.records if not record.name.startswith("http"))
    for secret in secrets:
        assert secret not in logged
        assert secret not in audit
        assert all(secret not in answer.headers.get("Location", "") for answer in answers)


def _with_others(browser: httpx.Client, pages: list[str], folder: Path) -> list[str]:
    """The pages, and every page of the route map that exists without a name or with the number 1."""
    routes = [each.path for each in page_routes(flask_app(folder / "map")) if each.method == "GET"]
    more = {path for path in routes if path not in pages and not path.endswith((".txt", "/log"))}
    shown = [(path, browser.get(path)) for path in sorted(more)]
    return pages + [
        path
        for path, answer in shown
        if answer.status_code == 200 and answer.headers["Content-Type"].startswith("text/html")
    ]


def _place(address: str) -> tuple[str, int]:
    url = httpx.URL(address)
    assert url.port is not None
    return url.host, url.port


def _sent(address: str, request: bytes, server_ends: bool = False) -> bytes:
    """Everything that the server answers to these bytes.

    The client ends its side when the answer begins; with `server_ends`, the server has to end the connection itself.
    """
    answer, is_ended = b"", False
    with socket.create_connection(_place(address), timeout=60) as connection:
        try:
            connection.sendall(request)
            while piece := connection.recv(65536):
                answer += piece
                if not server_ends and not is_ended:
                    connection.shutdown(socket.SHUT_WR)
                    is_ended = True
        except TimeoutError:
            raise
        except OSError:  # the server may have closed the connection at any time
            pass
    return answer


def _raw_get(address: str, path: str, cookie: str) -> bytes:
    """The answer to a path that is sent as it is."""
    head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {SESSION_COOKIE}={cookie}\r\nConnection: close\r\n\r\n"
    return _sent(address, head.encode())
