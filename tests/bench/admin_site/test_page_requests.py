"""The pages of the site are requested and timed: a request that fails counts, and each request reads anew."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from sqlalchemy import update

from admin.models.database import Database
from admin.models.job_tables import HarvestJob, JobStatus
from admin.models.transaction import COMMAND_LINE
from admin.people.invitations import first_invitation
from bench.admin_site.filled_database import Amounts, fill_database
from bench.admin_site.page_requests import PageTimes, logged_in, request_pages, served

COUNT_OF_DONE_JOBS = 'href="/jobs?status=DONE"'


class Answering(BaseHTTPRequestHandler):
    """The server closes the connection without a response to /broken, and refuses /refused."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/broken":
            self.close_connection = True
            return
        self.send_response(500 if self.path == "/refused" else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def answering() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_request_that_breaks_counts_as_an_error(concurrency: int) -> None:
    with answering() as address:
        times, errors = request_pages(address, {}, ["/whole", "/broken", "/refused"], 9, concurrency)
    assert (len(times), errors) == (9, 6)


@pytest.mark.parametrize(
    ("p95_ms", "errors", "has_target", "fails"),
    [(10.0, 0, True, False), (200.0, 0, True, True), (200.0, 0, False, False), (10.0, 1, True, True),
     (10.0, 1, False, True)],
)  # fmt: skip
def test_a_page_fails_by_its_errors_or_by_its_target(p95_ms: float, errors: int, has_target: bool, fails: bool) -> None:
    one = PageTimes("sqlite", "fleet", 1, 200, errors, 5.0, p95_ms, p95_ms, None, has_target)
    assert one.is_slow is fails


def test_each_request_reads_anew_what_the_site_shows_to_many_people(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'admin.db'}"
    database = Database(url)
    fill_database(database, Amounts(jobs=100, history=100, audit=100), lambda _: None)
    with database.transaction(COMMAND_LINE) as transaction:
        link = first_invitation(transaction)
    assert link is not None
    with (
        served(url, tmp_path / "home") as (address, _),
        httpx.Client(base_url=address, cookies=logged_in(address, link.token), timeout=120) as client,
    ):
        before = client.get("/jobs").text
        with database.transaction(COMMAND_LINE) as transaction:
            transaction.session.execute(update(HarvestJob).values(status=JobStatus.FAILED))
        after = client.get("/jobs").text
    database.close()
    assert [COUNT_OF_DONE_JOBS in text for text in (before, after)] == [True, False]
