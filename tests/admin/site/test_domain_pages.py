"""admin/web/pages/domain*.py: everything that belongs to a domain, as curators and readers see it."""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from sqlalchemy import event
from support.admin.harvest_database import DAY, MovableClock
from support.each_value import each_value
from support.web.axe_pages import serious_on_pages
from support.web.site_pages import HOSTILE, LONG, NUL, csrf_of, edition_of, refused, saved
from support.web.site_server import RunningSite, running_site, send_form

from admin.harvests.dispatch.channels import install_stock as install_channels
from admin.harvests.domains import uploads
from admin.harvests.templates.stock import install_stock as install_templates
from admin.models.database import Database
from admin.models.people_tables import Role
from admin.models.transaction import COMMAND_LINE
from admin.web.forms.limit_inputs import parse_limit

DOMAIN = "/domains/example.org"
SEEDS = f"{DOMAIN}/seed-lists/defaultseeds"
CONFIGURATION = f"{DOMAIN}/configurations/defaultconfig"
CONFIGURED = {"template": "default", "seed_lists": "defaultseeds", "max_rate": "100"}


@pytest.fixture
def site(sqlite_database: Database, tmp_path: Path) -> Iterator[RunningSite]:
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        install_channels(transaction)
        install_templates(transaction)
    with running_site(sqlite_database, tmp_path / "home") as running:
        yield running


@pytest.fixture
def client(site: RunningSite) -> Iterator[httpx.Client]:
    """An administrator's browser; there is one domain."""
    with site.client(Role.ADMINISTRATOR) as client:
        assert saved(client, "/domains", name="http://www.example.org/") == DOMAIN
        yield client


def test_a_curator_makes_copies_changes_and_deletes_configurations(client: httpx.Client) -> None:
    path = f"{DOMAIN}/configurations/new"
    values = {**CONFIGURED, "name": "deep", "max_bytes": "1.5 GB", "max_objects": "", "attributes": "hops: 7"}
    assert saved(client, path, **values) == DOMAIN
    shown = client.get(f"{DOMAIN}/configurations/deep").text
    assert 'value="1500 MB"' in shown
    assert "hops: 7" in shown
    copy = client.get(f"{path}?copy_of=deep").text
    assert 'value="deep copy"' in copy
    assert "hops: 7" in copy
    saved(client, path, **{**values, "name": "deep copy"})
    saved(client, DOMAIN, f"{DOMAIN}/configurations/deep/default")
    assert send_form(client, DOMAIN, f"{DOMAIN}/configurations/deep/delete").status_code == 409
    saved(client, DOMAIN, f"{DOMAIN}/configurations/deep copy/delete")
    assert "deep copy" not in client.get(DOMAIN).text.partition("<h2>Configurations")[2]


@each_value(
    ("text", "limit"),
    [
        ("", -1),
        ("-1", -1),
        ("500", 500),
        ("1.5 GB", 1_500_000_000),
        ("1,500 MB", 1_500_000_000),
        ("12,345,678", 12_345_678),
        ("1,234.5kB", 1_234_500),
        ("1\u202f500 kB", 1_500_000),
        *(
            (text, None)
            for text in (
                "1,5 GB",
                "0,25 TB",
                "0,500 GB",
                "1,50",
                "1500,000",
                "1,2345 MB",
                "12,34,567",
                "1.234,5",
                ",500",
            )
        ),
    ],
)
def test_commas_of_a_limit_separate_thousands(text: str, limit: int | None) -> None:
    if limit is None:
        with pytest.raises(ValueError, match=r"write a number, a size such as 500 MB or 1\.5 GB, or nothing"):
            parse_limit(text)
    else:
        assert parse_limit(text) == limit


def test_a_configuration_that_can_not_be_is_said_beside_its_fields(client: httpx.Client) -> None:
    path = f"{DOMAIN}/configurations/new"
    refused(client, path, "'much' is no limit", "much", **{**CONFIGURED, "name": "a", "max_bytes": "much"})
    refused(client, path, "'1,5 GB' is no limit", "1.5 GB", **{**CONFIGURED, "name": "a", "max_bytes": "1,5 GB"})
    refused(client, path, 'id="attributes-problem"', **{**CONFIGURED, "name": "a", "attributes": "hops: [1"})
    refused(client, path, 'id="attributes-problem"', **{**CONFIGURED, "name": "a", "attributes": "hobs: 1"})
    refused(client, path, 'id="seed_lists-problem"', name="a", template="default", max_rate="100")
    refused(client, path, "already", **{**CONFIGURED, "name": "defaultconfig"})
    refused(client, path, "there is no template", **{**CONFIGURED, "name": "a", "template": HOSTILE})
    for name in (HOSTILE, LONG, NUL, "a/b", "\u202eabc", ""):
        answer = refused(client, path, 'id="name-problem"', **{**CONFIGURED, "name": name})
        assert name in html.unescape(answer.text)


def test_seed_lists_are_made_changed_and_deleted_and_show_names_as_people_write_them(client: httpx.Client) -> None:
    path = f"{DOMAIN}/seed-lists/new"
    refused(client, path, "line 2: ", "ftp:", name="news", seeds="http://www.example.org/\nftp://example.org/")
    refused(client, path, "NUL", name="news", seeds="http://example.org/\0")
    saved(client, path, name="news", seeds="http://xn--blbr-roah.example.org/\n# a comment", comments=HOSTILE)
    shown = client.get(f"{DOMAIN}/seed-lists/news").text
    assert "blåbær.example.org" in shown
    assert "# a comment" in shown
    assert "<script>alert" not in shown + client.get(DOMAIN).text
    saved(client, DOMAIN, f"{DOMAIN}/seed-lists/news/delete")
    answer = send_form(client, DOMAIN, f"{SEEDS}/delete")
    assert answer.status_code == 409
    assert "defaultconfig" in answer.text


def test_passwords_are_kept_and_never_shown(client: httpx.Client) -> None:
    path = f"{DOMAIN}/passwords/new"
    values = {"name": "members", "url": "http://www.example.org/m/", "username": "reader", "password": "s3cret-word"}
    wrong = refused(client, path, 'id="url-problem"', **{**values, "url": "nowhere"})
    assert "s3cret-word" not in wrong.text
    assert 'value="reader"' in wrong.text
    saved(client, path, **values)
    change = {key: value for key, value in values.items() if key != "name"}
    saved(client, f"{DOMAIN}/passwords/members", **{**change, "password": "", "realm": HOSTILE[:-1]})
    for page in (DOMAIN, f"{DOMAIN}/passwords/members", "/audit"):
        text = client.get(page).text
        assert "s3cret-word" not in text
        assert "<script>alert" not in text
    configured = {**CONFIGURED, "name": "defaultconfig", "passwords": "members"}
    saved(client, CONFIGURATION, edition=edition_of(client, CONFIGURATION), **configured)
    assert send_form(client, DOMAIN, f"{DOMAIN}/passwords/members/delete").status_code == 409


def test_aliases_are_set_renewed_and_ended_and_the_list_says_when_they_expire(
    client: httpx.Client, clock: MovableClock
) -> None:
    saved(client, "/domains", name="example.net")
    path = "/domains/example.net/alias"
    for name, said in (
        ("nowhere.org", "there is no domain"),
        ("example.net", "alias of itself"),
        (HOSTILE, "there is"),
    ):
        refused(client, path, said, 'id="alias_of-problem"', alias_of=name, edition=edition_of(client, path))
    saved(client, path, alias_of="example.org", edition=edition_of(client, path))
    assert "example.net" in client.get("/domains/aliases").text
    assert "No alias expires soon." in client.get("/domains/aliases?soon=yes").text
    clock.move(360 * DAY)  # sessions end meanwhile, so the person logs in again
    send_form(client, "/login", name="the-administrator", password="a long enough password")
    assert "example.net" in client.get("/domains/aliases?soon=yes").text
    saved(client, "/domains/aliases", "/domains/example.net/alias/renew", back="list")
    assert "No alias expires soon." in client.get("/domains/aliases?soon=yes").text
    saved(client, "/domains/aliases", "/domains/example.net/alias/end")
    assert "There are no aliases." in client.get("/domains/aliases").text
    assert client.get("/domains/aliases?after=x").status_code == 422


def test_owners_become_history(client: httpx.Client) -> None:
    path = f"{DOMAIN}/owners"
    refused(client, path, 'id="owner-problem"', owner=" ", contact="kept")
    for owner in ("The First Library", HOSTILE):
        saved(client, path, owner=owner, contact="desk@example.org")
    shown = client.get(path).text
    assert shown.index("&lt;script&gt;") < shown.index("The First Library")
    assert "<script>alert" not in shown + client.get(DOMAIN).text


def test_crawler_traps_are_tested_with_samples_before_they_are_saved(client: httpx.Client) -> None:
    path = f"{DOMAIN}/crawler-traps"
    samples = "http://example.org/calendar/2027\nhttp://example.org/about"
    tested = send_form(client, path, action="test", active="/calendar/\n(", samples=samples)
    assert tested.status_code == 200
    assert "Line 2" in tested.text
    assert "no regular expression" in tested.text
    assert tested.text.count(">excluded<") == 1
    assert tested.text.count(">fetched<") == 1
    assert "Nothing was saved." in tested.text
    edition = edition_of(client, path)
    wrong = refused(client, path, "line 3: ", action="save", active="/a/\n\n(a|aa)+$\n", inactive="", edition=edition)
    assert "(a|aa)+$" in wrong.text
    refused(client, path, 'id="inactive-problem"', action="save", active="/a/", inactive="\n(", edition=edition)
    saved(client, path, action="save", active="/calendar/", inactive=f"/old/{HOSTILE}", edition=edition)
    shown = client.get(path).text
    assert "/calendar/" in shown
    assert "<script>alert" not in shown


def test_global_trap_lists_are_uploaded_tested_switched_and_downloaded(client: httpx.Client) -> None:
    path = "/domains/crawler-traps"
    assert "There are no global lists" in client.get(path).text
    values = {"name": "calendars", "is_active": "on", "text": "/calendar/\n# no expression\n/cal\\.php"}
    tested = send_form(client, f"{path}/new", action="test", samples="http://a.org/cal.php", **values)
    assert tested.text.count(">excluded<") == 1
    refused(client, f"{path}/new", "line 1: ", **{**values, "text": "("})
    refused(client, f"{path}/new", "no expression", **{**values, "text": "# nothing"})
    refused(client, f"{path}/new", 'id="name-problem"', **{**values, "name": HOSTILE})
    token = csrf_of(client)
    sent = client.post(
        f"{path}/new",
        data={"csrf_token": token, "name": "from a file", "text": "", "description": HOSTILE},
        files={"file": ("traps.txt", b"\xef\xbb\xbf/a/\r\n/b/\r\n", "text/plain")},
    )
    assert sent.status_code == 303
    made = sent.headers["Location"]
    assert client.get(f"{made}/download").text == "/a/\n/b/\n"
    assert client.get(f"{made}/download").headers["Content-Disposition"].startswith("attachment")
    shown = client.get(path).text
    assert ">inactive<" in shown
    assert "<script>alert" not in shown
    saved(client, path, f"{made}/activate")
    assert ">inactive<" not in client.get(path).text
    stale = edition_of(client, made)
    saved(client, path, f"{made}/deactivate")
    late = refused(client, made, "Both versions", name="from a file", text="/c/", description="", edition=stale)
    assert "/c/" in late.text
    saved(client, path, f"{made}/delete")
    assert client.get(made).status_code == 404
    assert client.get(f"{path}/{2**70}").status_code == 404


def test_extended_fields_are_defined_by_administrators_and_used_in_forms(client: httpx.Client) -> None:
    path = "/domains/extended-fields"
    refused(client, f"{path}/new", 'id="choices-problem"', entity="domain", name="dept", kind="choice", position="0")
    refused(client, f"{path}/new", 'id="name-problem"', entity="domain", name=LONG, kind="text", position="0")
    for name, kind, choices in (("dept", "choice", "maps\nprints"), ("count", "number", ""), ("since", "date", "")):
        saved(client, f"{path}/new", entity="domain", name=name, kind=kind, choices=choices, position="0")
    odd = 'a "quoted" <b>name'
    saved(client, f"{path}/new", entity="domain", name=odd, kind="note", position="9")
    edit = f"{DOMAIN}/edit"
    numbers = {name: f"extended-{place}" for place, name in enumerate(("dept", "count", "since", odd), 1)}
    edition = edition_of(client, edit)
    sent = {numbers["dept"]: "maps", numbers["count"]: "many", numbers["since"]: "yesterday", numbers[odd]: HOSTILE}
    wrong = refused(
        client, edit, "many", comments="kept", default_configuration="defaultconfig", edition=edition, **sent
    )
    assert f'id="{numbers["count"]}-problem"' in wrong.text
    assert f'id="{numbers["since"]}-problem"' in wrong.text
    sent = {**sent, numbers["count"]: "12", numbers["since"]: "2027-01-31"}
    saved(client, edit, comments=HOSTILE, default_configuration="defaultconfig", edition=edition, **sent)
    shown = client.get(DOMAIN).text
    assert "2027-01-31" in shown
    assert "<b>name" not in shown
    assert "<script>alert" not in shown
    assert DOMAIN in client.get("/domains?field=dept&value=maps").text
    assert DOMAIN not in client.get("/domains?field=dept&value=prints").text
    field = f"{path}/1"
    stale = edition_of(client, field)
    saved(client, field, name="department", kind="choice", choices="maps\nprints", position="0", edition=stale)
    refused(client, field, "Both versions", name="unit", kind="choice", choices="maps", position="0", edition=stale)
    assert send_form(client, field, name="d", kind="number", choices="", position="0").status_code == 422
    saved(client, path, f"{field}/delete", also_values="yes")


EDITED = (
    (f"{DOMAIN}/edit", {"comments": "one", "default_configuration": "defaultconfig"}, {"comments": "two"}),
    (SEEDS, {"name": "defaultseeds", "seeds": "http://one.example.org/"}, {"seeds": "http://two.example.org/"}),
    (CONFIGURATION, {**CONFIGURED, "name": "defaultconfig", "comments": "one"}, {"comments": "two"}),
    (f"{DOMAIN}/crawler-traps", {"action": "save", "active": "/one/", "inactive": ""}, {"active": "/two/"}),
    (f"{DOMAIN}/alias", {"alias_of": "one.org"}, {"alias_of": "two.org"}),
)


def test_who_saves_later_sees_both_versions_and_nothing_is_lost(client: httpx.Client) -> None:
    for name in ("one.org", "two.org"):
        saved(client, "/domains", name=name)
    for path, first, second in EDITED:
        edition = edition_of(client, path)
        saved(client, path, edition=edition, **first)
        late = refused(
            client,
            path,
            "Somebody else has changed this meanwhile.",
            "Both versions",
            edition=edition,
            **{**first, **second},
        )
        ((name, typed),) = second.items()
        assert first[name] in late.text, path
        assert late.text.count(typed) >= 2, "the table and the form both have what was typed"
        saved(client, path, edition=_edition(late), **{**first, **second})
        again = client.get(path).text
        assert typed in again, path


def _edition(answer: httpx.Response) -> str:
    return answer.text.partition('name="edition" value="')[2].partition('"')[0]


@pytest.mark.parametrize(("good", "wrong"), [(300, 1_500), pytest.param(5_000, 95_000, marks=pytest.mark.slow)])
def test_a_long_list_is_uploaded_and_every_wrong_line_is_in_the_report(
    client: httpx.Client, good: int, wrong: int
) -> None:
    lines = [f"name{number}.dk" for number in range(good)] + [f"no domain {number}" for number in range(wrong)]
    answer = client.post(
        "/domains/upload",
        data={"csrf_token": csrf_of(client), "text": ""},
        files={"file": ("list.txt", "\r\n".join(lines).encode(), "text/plain")},
        timeout=110,
    )
    assert answer.status_code == 200
    assert f"{good:,} domains added" in answer.text
    link = answer.text.partition('href="/domains/upload/reports/')[2].partition('"')[0]
    report = client.get(f"/domains/upload/reports/{link}").text.splitlines()
    assert len(report) == wrong + 1
    assert report[1].split("\t")[0] == str(good + 1)
    assert report[-1].split("\t")[2] == f"no domain {wrong - 1}"
    assert client.get("/domains/upload/reports/" + "x" * 22).status_code == 404
    page = client.get("/domains?tld=dk&order=newest")
    after = html.unescape(page.text.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0])
    assert client.get(after).text.count('<td class="wide"><a href="/domains/name') == 100


def test_the_api_adds_a_long_list_in_parts(
    site: RunningSite, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "LINES_OF_ONE_TRANSACTION", 200)
    commits: list[object] = []
    event.listen(site.database.engine, "commit", commits.append)
    headers = {"X-CSRFToken": csrf_of(client)}
    for path in ("domain-uploads", "seed-uploads"):
        before = len(commits)
        text = "\n".join(f"http://{path}{number}.dk/" for number in range(450))
        report = client.post(f"/api/v1/{path}", json={"text": text}, headers=headers, timeout=110).json()
        assert (report["lines"], report["created"]) == (450, 450)
        assert len(commits) - before >= 3, "each 200 lines have a transaction of their own"


def test_a_report_is_for_the_person_who_uploaded_alone(site: RunningSite, client: httpx.Client) -> None:
    answer = send_form(client, "/domains/upload", text=f"{HOSTILE}\n{LONG}\nab\0c")
    assert "<script>alert" not in answer.text
    link = answer.text.partition('href="/domains/upload/reports/')[2].partition('"')[0]
    assert client.get(f"/domains/upload/reports/{link}").status_code == 200
    with site.client(Role.CURATOR) as other:
        assert other.get(f"/domains/upload/reports/{link}").status_code == 404


def test_an_upload_that_is_no_list_is_refused(client: httpx.Client) -> None:
    token = csrf_of(client)
    for content in (b"<!doctype html><p>x", b"%PDF-1.7", b"PK\x03\x04..."):
        answer = client.post(
            "/domains/upload", data={"csrf_token": token, "text": ""}, files={"file": ("a", content, "text/plain")}
        )
        assert answer.status_code == 422
        assert 'role="alert"' in answer.text


def test_domains_are_searched_with_wildcards_and_counted_by_suffix(client: httpx.Client) -> None:
    send_form(client, "/domains/upload", text="example.co.uk\nexamine.uk\nblåbær.dk\n192.0.2.7")
    found = client.get("/domains?search=exam*").text
    assert "examine.uk" in found
    assert "blåbær.dk" not in found
    assert "blåbær.dk" in client.get("/domains?search=blå*").text
    assert "example.co.uk" in client.get("/domains?search=https://www.example.co.uk/a/b").text
    assert client.get("/domains?search=*a*b*c*d*e*f*").status_code == 422
    assert client.get("/domains", params={"search": HOSTILE + "*"}).status_code == 200
    assert client.get("/domains", params={"search": LONG + "*", "tld": NUL, "after": NUL}).status_code == 422
    assert ">co.uk</a>" in client.get("/domains/tlds").text
    assert ">co.uk</a>" not in client.get("/domains/tlds?level=1").text


READ = (
    *("/domains", "/domains/tlds", "/domains/aliases", "/domains/crawler-traps", "/domains/extended-fields", DOMAIN),
    *(CONFIGURATION, SEEDS, f"{DOMAIN}/owners", f"{DOMAIN}/crawler-traps", "/domains/crawler-traps/1"),
)
WRITTEN = (
    *("/domains", "/domains/upload", "/domains/crawler-traps/new", "/domains/crawler-traps/1"),
    *("/domains/crawler-traps/1/delete", "/domains/extended-fields/new", "/domains/extended-fields/1"),
    *(f"{DOMAIN}/edit", f"{DOMAIN}/delete", f"{DOMAIN}/alias", f"{DOMAIN}/alias/renew", f"{DOMAIN}/alias/end"),
    *(f"{DOMAIN}/owners", f"{DOMAIN}/crawler-traps", f"{DOMAIN}/passwords/new", f"{DOMAIN}/configurations/new"),
    *(CONFIGURATION, f"{CONFIGURATION}/default", f"{CONFIGURATION}/delete"),
    *(f"{DOMAIN}/seed-lists/new", SEEDS, f"{SEEDS}/delete"),
)


def test_a_reader_sees_no_forms_and_may_send_none(site: RunningSite, client: httpx.Client) -> None:
    saved(client, "/domains/crawler-traps/new", name="list", text="/a/")
    saved(client, "/domains/extended-fields/new", entity="domain", name="dept", kind="text", position="0")
    with site.client(Role.READER) as reader:
        for path in READ:
            answer = reader.get(path)
            assert answer.status_code == 200, path
            posts = answer.text.count('method="post"')
            assert posts == 1, f"{path} has more than the form for logging out"
        token = csrf_of(reader)
        full = {
            **CONFIGURED, "csrf_token": token, "name": "x", "text": "/a/", "owner": "x", "active": "/a/", "seeds": "",
            "alias_of": "a.org", "action": "save", "comments": "", "description": "",
        }  # fmt: skip
        fields: dict[str, dict[str, str]] = {
            f"{DOMAIN}/owners": {"owner": "x"},
            f"{DOMAIN}/crawler-traps": {"action": "save", "active": "/a/"},
            CONFIGURATION: {**CONFIGURED, "name": "x"},
            SEEDS: {"seeds": ""},
            "/domains/crawler-traps/1": {"action": "save", "name": "x", "text": "/a/"},
        }
        for path in WRITTEN:
            answer = reader.post(path, data={"csrf_token": token, **fields.get(path, full)})
            assert answer.status_code == 403, path


PAGES = (*("/domains", "/domains/upload", "/domains/crawler-traps/1", DOMAIN, f"{DOMAIN}/owners", CONFIGURATION),)
ALIKE = (
    *(f"{DOMAIN}/edit", "/domains/extended-fields/1", SEEDS, f"{DOMAIN}/passwords/members"),
    *("/domains/new", "/domains/tlds", "/domains/aliases", "/domains/crawler-traps", "/domains/crawler-traps/new"),
    *("/domains/extended-fields", "/domains/extended-fields/new", f"{DOMAIN}/alias", f"{DOMAIN}/crawler-traps"),
    *(f"{DOMAIN}/passwords/new", f"{DOMAIN}/configurations/new", f"{DOMAIN}/seed-lists/new"),
)
"""These pages have the form, the table or the list of another one, with other values."""


@pytest.mark.browser
@pytest.mark.timeout(600)
@pytest.mark.parametrize("paths", [PAGES, pytest.param(ALIKE, marks=pytest.mark.slow)], ids=["all kinds", "alike"])
def test_axe_finds_nothing_serious_on_pages_of_domains(
    site: RunningSite, client: httpx.Client, paths: tuple[str, ...]
) -> None:
    saved(client, "/domains/crawler-traps/new", name="list", text="/a/")
    saved(client, "/domains/extended-fields/new", entity="domain", name="dept", kind="text", position="0")
    saved(client, "/domains", name="example.net")
    saved(client, "/domains/example.net/alias", alias_of="example.org")
    values = {"name": "members", "url": "http://www.example.org/m/", "username": "reader", "password": "s3cret-word"}
    saved(client, f"{DOMAIN}/passwords/new", **values)
    saved(client, f"{DOMAIN}/configurations/new", **CONFIGURED, name="deep")
    assert serious_on_pages(site.address, client, paths) == []
