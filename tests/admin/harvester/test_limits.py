"""A job with several domains, each with limits of its own: what is harvested of each, and what is reported."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from support.admin.crawl_log_sums import summed
from support.admin.harvesters import Admin, RunningHarvester, Wanted, folders, told
from support.origins.chain_site import ChainSite
from support.origins.domains_site import DomainsSite
from support.processes.waiting import until

from admin.harvests.dispatch.listing import SampleView, job_samples
from admin.harvests.dispatch.steering import Verb
from admin.models.job_tables import JobStatus, StopReason
from admin.models.transaction import COMMAND_LINE
from archive.settings.load import Settings

PAGE = 2_000
"""Less than a page of the site takes, head and body."""
PAGES = 200
SLOW = {"politeness": {"min_delay_seconds": 0.1, "max_delay_seconds": 0.1}}
"""`PAGES` pages of a host take 20 s with these pauses. A busy harvester, too, sees a limit in that time."""


def test_limits_of_domains_hold_and_the_statistics_agree_with_the_log(settings: Settings, admin: Admin) -> None:
    names = ("small.test", "objects.test", "bytes.test", "config.test")
    wanted = [
        Wanted("small.test"),
        Wanted("objects.test", max_objects=5),
        Wanted("bytes.test"),
        Wanted("config.test", max_bytes=12_000),
    ]
    seeds = [f"http://www.{name}/" for name in names]
    with DomainsSite({"small.test": 2, "objects.test": PAGES, "bytes.test": PAGES, "config.test": PAGES}) as site:
        job = admin.job(wanted, seeds, profile=SLOW, harvest_limits=(40_000, -1), max_bytes=40_000)
        flags = site.resolving("*.test")
        with RunningHarvester(settings.home, "--jobs", "1", *flags) as harvester:
            ended = admin.ended(job)
            assert harvester.ended() == 0, harvester.said
    assert (ended.status, ended.harvest_error) == (JobStatus.DONE, "")
    results = admin.results(job)
    assert {name: result[3] for name, result in results.items()} == {
        "small.test": StopReason.COMPLETE,
        "objects.test": StopReason.CONFIGURATION_OBJECT_LIMIT,
        "bytes.test": StopReason.SIZE_LIMIT,
        "config.test": StopReason.CONFIGURATION_SIZE_LIMIT,
    }
    assert ended.run_name is not None
    run = settings.collection("news") / "jobs" / ended.run_name
    for name, result in results.items():
        assert result[:3] == summed(run, name), name
    assert ended.objects == sum(result[0] for result in results.values())
    assert ended.bytes == sum(result[1] for result in results.values())
    assert 5 <= results["objects.test"][0] < PAGES
    assert 40_000 <= results["bytes.test"][1] < PAGES * PAGE
    aside = {host["host"]: host["why"] for host in ended.report["hosts"]} if ended.report else {}
    assert aside["www.config.test"] == "limit-of-domain config.test"
    (folder,) = folders(settings.home, "oldjobs")
    assert told(folder / "harvestInfo.json")["max_bytes_per_domain"] == 40_000


def test_a_job_has_the_object_limit_of_its_harvest_in_each_domain(settings: Settings, admin: Admin) -> None:
    names = ("one.test", "two.test")
    with DomainsSite({"one.test": PAGES, "two.test": 1}) as site:
        job = admin.job(
            [Wanted(name) for name in names],
            [f"http://www.{name}/" for name in names],
            profile=SLOW,
            harvest_limits=(-1, 8),
            max_objects=8,
        )
        with RunningHarvester(settings.home, "--jobs", "1", *site.resolving("*.test")) as harvester:
            ended = admin.ended(job)
            assert harvester.ended() == 0, harvester.said
    results = admin.results(job)
    assert {name: result[3] for name, result in results.items()} == {
        "one.test": StopReason.OBJECT_LIMIT,
        "two.test": StopReason.COMPLETE,
    }
    assert ended.run_name is not None
    for name, result in results.items():
        assert result[:3] == summed(settings.collection("news") / "jobs" / ended.run_name, name), name


@pytest.mark.slow
def test_the_limit_of_a_domain_is_raised_and_removed_while_its_job_runs(
    settings: Settings, admin: Admin, site: ChainSite
) -> None:
    """The other domain of the job keeps it running meanwhile."""
    job = admin.job(
        [Wanted("many.test"), Wanted("example.org")],
        ["http://www.many.test/", "http://www.example.org/"],
        harvest_limits=(-1, 5),
        max_objects=5,
    )
    site.hold("/1")
    site.hold("/4")

    def samples() -> list[SampleView]:
        admin.submit()
        with admin.database.transaction(COMMAND_LINE) as transaction:
            return job_samples(transaction, job)

    def at_limit() -> int:
        found = samples()
        return found[-1].progress["domains_at_limit"] if found else 0

    def change(objects: int | None) -> str:
        limits = {"objects": objects}
        return admin.outcome(job, admin.command(job, Verb.SET_DOMAIN_LIMITS, domain="many.test", limits=limits))

    with DomainsSite({"many.test": 60}) as many:
        chain = f"*.example.org=127.0.0.1:{urlsplit(site.url).port}"
        flags = (*many.resolving("*.test"), "--resolve", chain)
        with RunningHarvester(settings.home, "--jobs", "1", *flags) as harvester:
            until(at_limit, what="a domain at its limit", within=100)
            assert change(30) == "limits of many.test: bytes none, objects 30; 1 of its hosts are visited again"
            until(lambda: len(many.asked) > 30, what="more pages", within=60)
            until(at_limit, what="the domain at its new limit", within=60)
            assert len([path for path in many.asked if path.startswith("www.many.test/p/")]) < 60
            assert change(None).startswith("limits of many.test: bytes none, objects none")
            until(lambda: len(many.asked) > 61, what="all pages", within=60)
            assert change(1) == "limits of many.test: bytes none, objects 1"
            assert change(None).startswith("limits of many.test: bytes none, objects none")
            # A sample of the moment in which many.test had the limit 1 may still come. The second one from now is new.
            taken = len(samples())
            until(lambda: len(samples()) >= taken + 2, what="two new samples", within=60)
            assert not at_limit()
            site.let_go("/1")
            # The limit is looked at each 0.2 s, and a busy machine may fetch the rest of the chain before that.
            until(at_limit, what="the other domain at its limit", within=60)
            site.let_go("/4")
            ended = admin.ended(job)
            assert harvester.ended() == 0, harvester.said
    assert (ended.status, ended.harvest_error) == (JobStatus.DONE, "")
    results = admin.results(job)
    assert results["many.test"][3] is StopReason.COMPLETE
    assert results["example.org"][3] is StopReason.OBJECT_LIMIT
    assert ended.run_name is not None
    for name, result in results.items():
        assert result[:3] == summed(settings.collection("news") / "jobs" / ended.run_name, name), name
    asked = [path for path in many.asked if path.startswith("www.many.test/p/")]
    assert len(asked) == len(set(asked)) == 60, "each page was fetched once"
    (folder,) = folders(settings.home, "oldjobs")
    assert told(folder / "state.json")["domain_limits"] == {"many.test": {"objects": -1}}
