"""admin/commands/use_cases: the commands do what the site and the API do, on a database of each kind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.each_value import each_value
from support.processes.command_lines import Run
from support.web.site_server import running_site

from admin.harvests.stock import prepare
from admin.models.database import Database
from admin.models.people_tables import Role
from admin.models.transaction import Actor, Door
from admin.people.api_tokens import NewApiToken, create_token


def test_from_a_domain_to_the_preview_of_its_job(run: Run) -> None:
    assert run("domain", "create", "http://www.example.org/a", "--json").json["name"] == "example.org"
    assert run("schedule", "create", "nightly", "--unit", "day", "--hour", "3", "--minute", "30").code == 0
    made = run(
        *("harvest", "create", "nightly-news", "--collection", "news", "--schedule", "nightly", "--json"),
        *("--configuration", "example.org/defaultconfig", "--facts", "operator=The Library"),
        *("--trap", "/calendar/", "--first-run", "2027-01-15T08:00+01:00"),
    ).json
    assert (made["configurations"], made["facts"]) == (1, {"operator": "The Library"})
    assert made["first_run"] == 1_799_996_400_000_000
    assert [each["expression"] for each in made["traps"]] == ["/calendar/"]
    assert run("harvest", "activate", "nightly-news", "--json").json["is_active"] is True
    assert run("harvest", "run-now", "nightly-news", "--json").json["run_now"] is True
    assert run("harvest", "preview", "nightly-news", "--json").json["jobs"] == 1
    snapshot = run(
        "harvest", "create", "all", "--kind", "snapshot", "--collection", "c", "--max-bytes", "5MB", "--json"
    )
    assert snapshot.json["max_bytes"] == 5_000_000
    explained = run("harvest", "explain", "nightly-news", "example.org")
    assert "defaultconfig" in explained.out
    audit = run("audit", "list", "--all", "--json").json["items"]
    assert {("command line", "command")} == {(each["actor"], each["door"]) for each in audit}


def test_a_change_keeps_what_is_not_named_and_refuses_an_old_edition(run: Run) -> None:
    made = run("schedule", "create", "s", "--unit", "day", "--hour", "3", "--minute", "30", "--json").json
    changed = run("schedule", "change", "s", "--hour", "4", "--json").json
    assert (changed["hour"], changed["minute"], changed["edition"]) == (4, 30, made["edition"] + 1)
    late = run("schedule", "change", "s", "--hour", "5", "--edition", str(made["edition"]))
    assert (late.code, late.out) == (1, "")
    assert "changed by somebody else" in late.err
    assert run("channel", "change", "FOCUSED", "--comments", "for news", "--json").json["is_default"] is True


def test_lists_are_pages_and_with_all_one_document(run: Run) -> None:
    for name in ("a.org", "b.org", "c.org"):
        run("domain", "create", name)
    page = run("domain", "list", "--limit", "2", "--json").json
    assert ([each["name"] for each in page["items"]], page["total"]) == (["a.org", "b.org"], 3)
    rest = run("domain", "list", "--limit", "2", "--after", page["next"], "--json").json
    assert ([each["name"] for each in rest["items"]], rest["next"]) == (["c.org"], None)
    whole = run("domain", "list", "--limit", "2", "--all", "--json").json
    assert ([each["name"] for each in whole["items"]], whole["next"]) == (["a.org", "b.org", "c.org"], None)
    table = run("domain", "list", "--limit", "2")
    assert table.out.splitlines()[0].startswith("NAME")
    assert "--after" in table.err


def test_an_upload_reports_lines_that_can_not_be_used_and_can_be_repeated(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "list.txt"
    file.write_bytes(b"\xef\xbb\xbfone.org\r\nnot a domain\r\nwww.two.org\r\n\r\n" + b"x" * 200_000 + b"\nthree.org")
    first = run("domain", "upload", str(file))
    assert first.code == 1
    assert "line 2: " in first.err
    assert "line 5: " in first.err
    assert "3 domains added" in first.out
    again = run("domain", "upload", "-", "--json", given=file.read_bytes())
    report = json.loads(again.out)
    assert (report["created"], report["known"], report["invalid"]) == (0, 3, 2)
    seeds = run("domain", "upload-seeds", "-", "--seed-list", "news", given="http://www.one.org/news\n")
    assert (seeds.code, "1 seed added" in seeds.out) == (0, True)
    assert run("domain", "seed-list", "show", "one.org", "news", "--json").json["seeds"] == "http://www.one.org/news"


@pytest.mark.parametrize("lines", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_long_list_is_read_part_by_part(sqlite_run: Run, tmp_path: Path, lines: int) -> None:
    file, wrong = tmp_path / "list.txt", lines // 1000
    with file.open("w") as stream:
        stream.writelines(f"site-{number}.org\n" if number % 1000 else "no domain\n" for number in range(lines))
    done = sqlite_run("domain", "upload", str(file), "--json")
    report = json.loads(done.out)
    assert (done.code, report["created"], report["invalid"]) == (1, lines - wrong, wrong)
    assert len(report["problems"]) == wrong
    assert f"{lines // 2:,} lines read" in done.err


def test_a_template_goes_to_a_file_and_comes_back_as_a_version(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    assert run("template", "download", "default", "--output", str(file)).code == 0
    text = file.read_text()
    assert run("template", "download", "default").out == text
    assert run("template", "upload", "mine", str(file), "--json").json["version"] == 1
    file.write_text(text.replace("hops: 20", "hops: 3"))
    assert run("template", "check", str(file), "--json").json["is_valid"] is True
    assert run("template", "upload", "mine", str(file), "--comments", "fewer hops", "--json").json["version"] == 2
    assert "hops" in run("template", "compare", "mine", "--old", "1", "--new", "2").out
    file.write_text(text.replace("hops: 20", "hops: many"))
    refused = run("template", "upload", "mine", str(file))
    assert (refused.code, "many" in refused.err, len(refused.err.splitlines())) == (2, True, 1)
    assert run("template", "show", "mine", "--json").json["version"] == 2


@each_value(
    ("words", "code", "named"),
    [
        (("domain", "show", "none.org"), 1, "none.org"),
        (("domain", "create", "not a domain"), 2, "not a domain"),
        (("schedule", "create", "x"), 2, "--unit: the value is missing"),
        (("schedule", "create", "x", "--unit", "day", "--set", "colour=red"), 2, "colour: there is no such field"),
        (("schedule", "create", "x", "--unit", "day", "--set", "zone"), 2, "write KEY=VALUE"),
        (("harvest", "create", "h", "--collection", "c", "--first-run", "soon"), 2, "'soon' is no date"),
        (("harvest", "create", "h", "--collection", "c", "--max-bytes", "many"), 2, "'many' is not a size"),
        (("template", "check", "no/such/file"), 2, "no/such/file can't be read"),
        (("harvest", "create", "h", "--from", "no/such/file"), 2, "no/such/file can't be read"),
        (("harvest", "job", "show", "7"), 1, "7"),
        (("harvest", "job", "show", "seven"), 2, "seven"),
        (("trap", "delete", "1"), 2, "give --yes"),
        (("user", "token", "create", "ci"), 2, "--as is missing"),
        (("user", "token", "create", "ci", "--as", "nobody"), 1, "nobody"),
        (("domain", "list", "--server", "http://127.0.0.1:9"), 2, "GHOSTFLEET_TOKEN"),
        (("domain", "list", "--limit", "100000"), 2, "100000"),
    ],
)
def test_bad_input_is_one_line_that_names_it(sqlite_run: Run, words: tuple[str, ...], code: int, named: str) -> None:
    ended = sqlite_run(*words, COLUMNS="80")
    assert (ended.code, ended.out) == (code, ""), ended
    assert named in ended.err
    assert len(ended.err.strip().splitlines()) == 1


def test_fields_come_from_a_file_and_options_win(sqlite_run: Run, tmp_path: Path) -> None:
    file = tmp_path / "schedule.yaml"
    file.write_text("unit: week\nweekday: 2\nhour: 3\nminute: 0\n")
    made = sqlite_run(
        "schedule", "create", "s", "--from", str(file), "--set", "weekday=5", "--hour", "6", "--json"
    ).json
    assert (made["unit"], made["weekday"], made["hour"]) == ("week", 5, 6)
    for wrong in ("- a\n- b\n", "a: [", "\x00", "[" * 100_000):
        file.write_text(wrong)
        refused = sqlite_run("schedule", "create", "t", "--from", str(file))
        assert (refused.code, len(refused.err.splitlines())) == (2, 1)


def test_what_steers_a_terminal_is_not_printed(sqlite_run: Run) -> None:
    sqlite_run("domain", "create", "a.org", "--comments", "\x1b[2Jgone\u202e")
    assert "\x1b" in sqlite_run("domain", "show", "a.org", "--json").json["comments"]
    shown = sqlite_run("domain", "show", "a.org").out + sqlite_run("domain", "list").out
    assert "gone" in shown
    assert not {"\x1b", "\u202e"} & set(shown)


def test_a_secret_comes_from_standard_input_and_is_never_shown(sqlite_run: Run) -> None:
    sqlite_run("domain", "create", "a.org")
    words = ("domain", "password", "create", "a.org", "p", "--url", "http://a.org/", "--username", "me")
    made = sqlite_run(*words, "--password", "-", given="hunter2\n")
    assert (made.code, "hunter2" in made.out + made.err) == (0, False)
    assert "hunter2" not in sqlite_run("audit", "list", "--all", "--json").out


def test_own_things_are_made_for_a_named_user(sqlite_run: Run, home: Path) -> None:
    link = sqlite_run("user", "create", "alice", "--role", "operator")
    assert "/welcome/" in link.out
    token = sqlite_run("user", "token", "create", "ci", "--as", "alice", "--json").json
    assert token["role"] == "operator"
    too_much = sqlite_run("user", "token", "create", "more", "--role", "administrator", "--as", "alice")
    assert (too_much.code, "administrator" in too_much.err) == (2, True)
    assert [each["name"] for each in sqlite_run("user", "tokens", "alice", "--json").json["items"]] == ["ci"]
    entry = sqlite_run("audit", "list", "--action", "token.create", "--json").json["items"][0]
    assert entry["actor"] == "command line for alice"


def test_the_same_commands_work_on_a_server(sqlite_run: Run, sqlite_database: Database, home: Path) -> None:
    prepare(sqlite_database)
    with running_site(sqlite_database, home / "site") as site:
        with site.client(Role.CURATOR) as client:
            assert client.get("/").status_code == 200
        actor = Actor("the-curator", Role.CURATOR, Door.COMMAND, user_id=1)
        with sqlite_database.transaction(actor) as transaction:
            token = create_token(transaction, NewApiToken(name="ci")).token

        made = sqlite_run(
            *("domain", "create", "a.org", "--json", "--server", site.address), GHOSTFLEET_TOKEN=token
        ).json
        assert made["name"] == "a.org"
        listed = sqlite_run("domain", "list", "--server", site.address, GHOSTFLEET_TOKEN=token)
        assert "a.org" in listed.out
        upload = sqlite_run(
            *("domain", "upload", "-", "--server", site.address), given="b.org\nno name\n", GHOSTFLEET_TOKEN=token
        )
        assert (upload.code, "1 domain added" in upload.out) == (1, True)
        missing = sqlite_run("domain", "show", "none.org", "--server", site.address, GHOSTFLEET_TOKEN=token)
        assert (missing.code, "none.org" in missing.err) == (1, True)
        refused = sqlite_run("user", "list", "--server", site.address, GHOSTFLEET_TOKEN=token)
        assert (refused.code, "may not administer" in refused.err) == (1, True)
        stranger = sqlite_run("domain", "list", "--server", site.address, GHOSTFLEET_TOKEN="wrong")
        assert (stranger.code, "API token" in stranger.err) == (1, True)
        download = sqlite_run("template", "download", "default", "--server", site.address, GHOSTFLEET_TOKEN=token)
        assert download.out.startswith("#")
    assert sqlite_run("domain", "list", "--json").json["items"] == []
