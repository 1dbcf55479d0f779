"""admin/capture_sessions/notes: the order, the pages, the bounds and the secrets of notes, by command and use case."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import insert

from admin.capture_sessions import notes, sessions
from admin.capture_sessions.notes import MOST_NOTES, NewCaptureNote, notes_of_pages, write_note
from admin.capture_sessions.sessions import NewCaptureSession
from admin.models.capture_tables import CaptureSession, SessionNote, SessionPage
from admin.models.database import FILE_NAME, Database, open_database
from admin.models.errors import IllegalState, InvalidInput, NotFound
from admin.models.transaction import COMMAND_LINE, Transaction
from admin.qa import sessions as qa_sessions
from admin.qa.reviewing import repairs
from archive.settings.load import load
from bench.process import our_command, source_environment

URL = "http://example.org/a"


@pytest.fixture
def stored(home: Path, sqlite_tables: Path) -> Iterator[Database]:
    shutil.copy(sqlite_tables, home / FILE_NAME)
    opened = open_database(load({"home": str(home)}, environment={}))
    yield opened
    opened.close()


@pytest.fixture
def transaction(stored: Database) -> Iterator[Transaction]:
    with stored.transaction(COMMAND_LINE) as opened:
        yield opened


def session_with(transaction: Transaction, *pages: tuple[str, int]) -> int:
    number = sessions.start(transaction, NewCaptureSession(collection="hand")).id
    for at, (url, captured) in enumerate(pages, 1):
        transaction.session.add(
            SessionPage(session_id=number, number=at, url=url, title="", mime="text/html", captured=captured)
        )
    transaction.session.flush()
    return number


def test_a_note_belongs_to_the_last_visit_before_it(transaction: Transaction) -> None:
    later = transaction.now + 10**9
    number = session_with(transaction, (URL, 1), (f"{URL}/b", 2), (URL, 3), (URL, later))
    first = write_note(transaction, number, NewCaptureNote(note="first", url=URL))
    assert (first.page, first.url, first.written_by) == (3, URL, "command line")
    assert write_note(transaction, number, NewCaptureNote(note="last page")).url == URL
    assert write_note(transaction, number, NewCaptureNote(note="elsewhere", url="http://b.org")).page is None
    assert [each.text for each in notes.list_notes(transaction, number).items] == ["first", "last page", "elsewhere"]
    pages = sessions.list_pages(transaction, number).items
    found = notes_of_pages(transaction, number, pages)
    assert {page: [each.text for each in listed] for page, listed in found.items()} == {3: ["first", "last page"]}
    piece = notes.list_notes(transaction, number, limit=2)
    assert [each.text for each in notes.list_notes(transaction, number, after=piece.next).items] == ["elsewhere"]


def test_a_field_that_a_page_declared_is_left_out_of_the_address(transaction: Transaction) -> None:
    number = session_with(transaction)
    transaction.session.get_one(CaptureSession, number).secret_fields = ["kennwort"]
    given = NewCaptureNote(note="x", url=f"{URL}?kennwort=geheim&a=1")
    assert "geheim" not in write_note(transaction, number, given).url
    assert write_note(transaction, number, given).url.endswith("&a=1")
    transaction.session.get_one(CaptureSession, number).keeps_secrets = True
    assert "geheim" in write_note(transaction, number, given).url


def test_the_number_of_notes_is_bounded(transaction: Transaction) -> None:
    number = session_with(transaction)
    row = {"session_id": number, "url": "", "text": "x", "written": 1, "written_by": "eva"}
    transaction.session.execute(insert(SessionNote), [row] * MOST_NOTES)
    with pytest.raises(IllegalState, match=r"10,000 notes"):
        write_note(transaction, number, NewCaptureNote(note="x"))
    with pytest.raises(NotFound):
        write_note(transaction, 999, NewCaptureNote(note="x"))


def test_the_command_writes_and_shows_notes(stored: Database, home: Path) -> None:
    with stored.transaction(COMMAND_LINE) as transaction:
        number = session_with(transaction, (URL, 1))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = our_command("session", *arguments, "--home", str(home))
        return subprocess.run(command, env=source_environment(), capture_output=True, text=True, check=False)

    assert run("note", str(number), "The menu is cut.", "--url", URL).returncode == 0
    shown = run("show", str(number), "--json")
    assert [(each["text"], each["page"]) for each in json.loads(shown.stdout)["notes"]] == [("The menu is cut.", 1)]
    assert "The menu is cut." in run("show", str(number)).stdout
    for bad in ((str(number), " "), (str(number), "x", "--url", "::"), ("999", "x")):
        refused = run("note", *bad)
        assert refused.returncode in (1, 2)
        assert len(refused.stderr.splitlines()) == 1, refused.stderr


@pytest.mark.parametrize("after", ["9" * 30, "9" * 5_000, "-1", "x", "²"])
def test_what_ends_no_page_of_a_list_is_refused(transaction: Transaction, after: str) -> None:
    number = session_with(transaction)
    for listed in (
        lambda: notes.list_notes(transaction, number, after=after),
        lambda: sessions.list_pages(transaction, number, after=after),
        lambda: sessions.list_sessions(transaction, after=after),
        lambda: qa_sessions.list_sessions(transaction, after=after),
        lambda: repairs.list_repairs(transaction, after=after),
    ):
        with pytest.raises(InvalidInput, match="no place in this list"):
            listed()
