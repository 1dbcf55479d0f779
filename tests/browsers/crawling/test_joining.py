"""A worker that is started by hand joins a job by names that people know, and a refusal of a proxy is one line."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.browsers.visits import Fleet
from support.processes.ghostfleet_command import ROOT

from admin.demo.garden import GardenSite
from archive.settings.load import load
from browsers.crawling.worker import run_worker
from browsers.proxying.control_client import Control, SessionRequest, check_session, read_token
from browsers.visit import FleetMisconfigured, FleetUnavailable
from frontier.definition.job import Job, Profile
from frontier.queue import Frontier
from frontier.store import latest_run

QUICK = {"frontier.min_delay_seconds": 0, "frontier.delay_factor": 0, "frontier.retry_seconds": 0}


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("j2", "j2-20261125145250"),
        ("j2-20261124145250", "j2-20261124145250"),
        ("j2-20261125145250", "j2-20261125145250"),
        ("j", None),
        ("other", "other"),
    ],
)
def test_the_name_of_a_job_means_its_latest_run(name: str, run: str | None) -> None:
    assert latest_run(name, ["j2-20261125145250", "j2-20261124145250", "j2-x-20261126145250", "other"]) == run


def test_a_worker_joins_by_the_jobs_name_and_a_relative_log_folder_is_its_own(
    fleet: Fleet, redis_url: str, garden: GardenSite, tmp_path: Path
) -> None:
    settings = load({"home": str(fleet.home), **QUICK}, environment={})
    job = Job.of("j2-20261125145250", "joined", ["http://www.garden.test/"], Profile(scope="page"))
    frontier = Frontier(redis_url, job, settings.frontier)
    frontier.open_job()

    def worker(name: str) -> subprocess.CompletedProcess[str]:
        command = ["worker", "--home", str(fleet.home), "--redis-url", redis_url, "--job", name, "--log-dir", "logs/j2"]
        command += ["--proxy", fleet.proxy.ready["proxy"], "--control", fleet.proxy.ready["controls"][0]]
        return subprocess.run(
            [sys.executable, "-m", "admin.cli", *command],
            env={**os.environ, **settings.for_child(), "PYTHONPATH": str(ROOT)},
            cwd=tmp_path, capture_output=True, text=True, timeout=100,
        )  # fmt: skip

    unknown, known = worker("j3"), worker("j2")

    assert (unknown.returncode, unknown.stderr.count("\n")) == (2, 1)
    assert "--job j3" in unknown.stderr
    assert "j2-20261125145250" in unknown.stderr
    assert known.returncode == 0, known.stderr
    assert "http://www.garden.test/" in (tmp_path / "logs" / "j2" / "crawl.log").read_text("utf-8")
    frontier.close()


@pytest.mark.parametrize(("log_dir", "token"), [("logs/relative", ""), ("/tmp/x/../y", ""), (None, "wrong")])
def test_a_worker_whose_options_a_proxy_refuses_ends_with_the_reason_of_the_proxy(
    fleet: Fleet, redis_url: str, tmp_path: Path, log_dir: str | None, token: str
) -> None:
    home = fleet.home
    if token:
        home = tmp_path / "home"
        home.mkdir()
        (home / "control.token").write_text(token)
    settings = load({"home": str(home), **QUICK}, environment={})
    frontier = Frontier(redis_url, Job.of("refused", "c", ["http://www.garden.test/"], Profile()), settings.frontier)
    frontier.open_job()

    with pytest.raises(FleetMisconfigured) as refused:
        run_worker(
            settings,
            job="refused",
            proxy=fleet.proxy.ready["proxy"],
            controls=fleet.proxy.ready["controls"],
            redis_url=redis_url,
            name="w",
            concurrency=1,
            stop=threading.Event(),
            log_dir=log_dir,
        )

    assert ("log_dir" if log_dir else "token") in str(refused.value)
    assert frontier.reports.progress().queued == 1
    frontier.close()


def test_a_page_that_the_control_port_refuses_is_tried_a_few_times_and_says_why(fleet: Fleet) -> None:
    with Control(fleet.proxy.ready["controls"][0], read_token(fleet.home)) as control:
        check_session(control, SessionRequest("c", "job"))
        with pytest.raises(FleetUnavailable) as refused:
            control.open(SessionRequest("c", "job", hop_path="L" * 100_000))

    assert refused.value.may_be_the_page
    assert "hop_path" in str(refused.value)
