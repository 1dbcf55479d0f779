"""A domain that gave no good answer is not complete, and the job says so wherever people look."""

from __future__ import annotations

import pytest
from support.admin.harvesters import Admin, RunningHarvester, Wanted
from support.origins.raw_origin import RawOrigin, Send

from admin.harvests.dispatch.listing import list_jobs
from admin.harvests.generation.candidates import PastDomain, is_complete_before
from admin.harvests.generation.expectations import BudgetLimits
from admin.harvests.statistics.overview import show_overview
from admin.models.job_tables import JobStatus, StopReason
from admin.models.transaction import COMMAND_LINE

PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 12\r\n\r\n<p>Hello</p>"
GONE = b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"
DOWN = b"HTTP/1.1 503 Down\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nsorry"
AWAY = b"HTTP/1.1 302 Away\r\nLocation: http://elsewhere.example/\r\nContent-Length: 0\r\n\r\n"
CLOSED = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 26\r\n\r\nUser-agent: *\nDisallow: /\r\n"
ANSWERS = {"good": PAGE, "down": DOWN, "away": AWAY, "closed": PAGE}


def answer(asked: bytes) -> tuple[Send, ...]:
    """The answer of each site to its front page and to robots.txt; the front page of `www.down.example` moves on."""
    host = asked.lower().partition(b"\r\nhost: ")[2].partition(b"\r\n")[0].decode().partition(":")[0]
    path = asked.split()[1]
    name = host.split(".")[-2]
    if path == b"/robots.txt":
        return (Send(CLOSED if name == "closed" else GONE),)
    if host.startswith("www."):
        to = f"HTTP/1.1 301 Moved\r\nLocation: http://{name}.example/\r\nContent-Length: 0\r\n\r\n"
        return (Send(to.encode()),)
    return (Send(ANSWERS[name]),)


@pytest.mark.timeout(300)
def test_a_domain_without_a_good_answer_is_not_complete_and_the_job_has_gaps(admin: Admin) -> None:
    names = ("good", "down", "away", "closed", "lost")
    with RawOrigin("127.0.1.77") as origin:
        origin.otherwise(answer)
        at = origin.url("").removeprefix("http://").rstrip("/")
        flags = [part for name in names[:4] for part in ("--resolve", f"*.{name}.example={at}")]
        flags += [part for name in names[:4] for part in ("--resolve", f"{name}.example={at}")]
        flags += ["--resolve", "lost.example=127.0.1.78:9"]
        seeds = [*(f"http://{name}.example/" for name in names), "http://www.down.example/"]
        job = admin.job([Wanted(f"{name}.example") for name in names], seeds, profile={"redirect_hops": 0})
        with RunningHarvester(admin.settings.home, "--jobs", "1", *flags) as harvester:
            ended = admin.ended(job, within=250)
            assert harvester.ended() == 0, harvester.said

    found = {name: reason for name, (_, _, _, reason) in admin.results(job).items()}
    dead = ["away.example", "closed.example", "down.example", "lost.example"]
    assert found == {"good.example": StopReason.COMPLETE, **dict.fromkeys(dead, StopReason.NO_GOOD_ANSWER)}
    assert (ended.status, ended.unanswered_domains) == (JobStatus.DONE, 4)
    assert ended.gaps.startswith(f"no good answer from 4 domains: {', '.join(dead)}; ")
    with admin.database.transaction(COMMAND_LINE) as transaction:
        overview = show_overview(transaction)
        (line,) = list_jobs(transaction).items
    assert [each.id for each in overview.unanswered] == [job]
    assert overview.needs_attention
    assert line.gaps == ended.gaps
    past = PastDomain(StopReason.NO_GOOD_ANSWER, 3, 300)
    assert not any(is_complete_before(past, BudgetLimits(-1, -1), reading) for reading in ("seed", "netarchivesuite"))
