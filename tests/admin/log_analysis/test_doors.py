"""Logs are analysed by commands, by the API, and on the site; the scheduler tells of alerts."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from sqlalchemy import select
from support.admin.job_rows import add_channel, add_domain, add_harvest, add_job
from support.admin.log_lines import line, ordinary, write_log
from support.admin.notifying import Notifying
from support.web.security_site import form_token
from support.web.site_server import RunningSite, running_site

from admin.cli import ghostfleet
from admin.jobs.runs import Run, resume_or_create
from admin.log_analysis.columns.line_columns import EDITION
from admin.models.database import Database
from admin.models.harvest_tables import Harvest
from admin.models.job_tables import HarvestJob, JobStatus
from admin.models.people_tables import InstallationValue, Notification, Role
from admin.models.transaction import COMMAND_LINE, Transaction
from admin.scheduler.log_watch import look_at_logs


def test_the_commands_answer_in_tables_and_in_json(home: Path, tmp_path: Path) -> None:
    log = write_log(tmp_path / "weekly" / "crawl.log", ordinary(200))
    run = CliRunner().invoke

    def answer(*words: str) -> object:
        found = run(ghostfleet, ["log", *words, "--home", str(home), "--json"])
        assert found.exit_code == 0, found.output
        return json.loads(found.stdout)

    analysed = answer("analyse", str(log))
    assert isinstance(analysed, dict)
    assert (analysed["name"], analysed["lines"]) == ("weekly", 200)
    for command in ("timeline", "hosts", "statuses", "search", "indicators"):
        assert isinstance(answer(command, "weekly"), dict)
        assert len(run(ghostfleet, ["log", command, "weekly", "--home", str(home)]).stdout.splitlines()) > 2
    assert answer("alerts", "weekly") == []
    missing = run(ghostfleet, ["log", "hosts", "nothing", "--home", str(home)])
    assert missing.exit_code == 1
    assert "there is no job and no analysed log 'nothing'" in missing.stderr
    absent = run(ghostfleet, ["log", "analyse", str(tmp_path / "crawl.log"), "--name", "absent", "--home", str(home)])
    assert absent.exit_code == 1
    assert "crawl.log can't be read" in absent.stderr
    assert not (home / "analysis" / "absent").exists()


@pytest.fixture
def site(sqlite_database: Database, tmp_path: Path) -> Iterator[RunningSite]:
    with running_site(sqlite_database, tmp_path / "home") as running:
        yield running


@pytest.fixture
def run(sqlite_database: Database, site: RunningSite) -> Path:
    """The folder of the run of a started job, whose host met a quota."""
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        harvest = add_harvest(transaction, add_channel(transaction))
        add_domain(transaction, "example.org")
        return begun(transaction, harvest).folder


def begun(transaction: Transaction, harvest: Harvest) -> Run:
    """Start a job of the harvest, whose host met a quota; return its run."""
    job = add_job(transaction, harvest)
    job.status, job.started = JobStatus.STARTED, transaction.now
    jobs = transaction.settings.collection(job.collection) / "jobs"
    found = resume_or_create(jobs, job.collection, f"h{harvest.id}-{job.id}", {})
    job.run_name = found.state.name
    write_log(found.crawl_log, [*ordinary(300), line(60, "https://capped.example.org/", -5003)])
    return found


def test_the_page_shows_the_log_of_a_job(site: RunningSite, run: Path) -> None:
    with site.client(Role.OPERATOR) as client:
        before = client.get(f"/logs/{run.name}")
        token = form_token(client)
        client.post(f"/logs/{run.name}/analyse", data={"csrf_token": token})
        after = client.get(f"/logs/{run.name}", params={"order": "bytes"})
        found = client.get(f"/logs/{run.name}/lines", params={"host": "capped.example.org"})
        wrong = client.get(f"/logs/{run.name}/lines", params={"status": "5xq"})

        assert "Time line" not in before.text
        assert after.status_code == 200, after.text
        assert "host-capped" in after.text
        assert after.text.count("data-chart") == 4
        assert "https://capped.example.org/" in found.text
        assert wrong.status_code == 422
        assert "write a code such as 404" in wrong.text
        assert client.get(f"/logs/{run.name}/hosts", params={"text": "capped"}).text.count("capped.example.org") > 1
        assert client.get("/logs").status_code == 200
        assert f"/logs/{run.name}" in client.get("/jobs/1").text
        assert client.get("/logs/h9-9-20260101000000").status_code == 404


def test_the_api_answers_about_a_log(site: RunningSite, run: Path) -> None:
    with site.client(Role.OPERATOR) as client:

        def ask(path: str, **parameters: str) -> httpx.Response:
            return client.get(f"/api/v1/logs/{run.name}{path}", params=parameters)

        refused = ask("/hosts")
        headers = {"X-CSRFToken": form_token(client)}
        analysed = client.post(f"/api/v1/logs/{run.name}/analyse", headers=headers)

        assert refused.status_code == 409
        assert analysed.json()["lines"] == 301
        assert ask("/alerts").json()["alerts"][0]["rule"] == "host-capped"
        assert ask("/lines", status="-5003").json()["lines"][0]["number"] == 301
        assert ask("/lines", limit="0").status_code == 422
        assert ask("/hosts", limit="1").json()["next"]
        assert ask("/hosts", after='[1,"\\ud800"]').status_code == 422
        assert ask("/timeline").json()["points"][0]["urls"] > 0
        assert ask("/statuses").json()["types"]
        assert ask("/indicators").json()["verdict"] == "reject"
        assert ask("").json()["is_complete"] is True


def test_the_page_of_a_log_that_was_rotated_tells_of_lines_that_were_not_read(site: RunningSite, run: Path) -> None:
    log = run / "crawl.log"
    with site.client(Role.OPERATOR) as client:
        read = client.post(f"/logs/{run.name}/analyse", data={"csrf_token": form_token(client)})
        log.rename(run / "crawl.log.0001")
        whole = client.get(f"/logs/{run.name}").text
        write_log(log, [line(70)])
        more = client.get(f"/logs/{run.name}").text

    assert read.status_code < 400
    assert "The file is gone" not in whole
    assert "The file has more lines" not in whole
    assert "The file has more lines" in more


def test_a_damaged_analysis_keeps_the_alerts_of_no_other_job_back(sqlite_database: Database, run: Path) -> None:
    head = {"size": 0, "sha256": ""}
    damaged = {"edition": EDITION, "source": "", "head": head, "place": "no number", "parts": [], "broken_lines": []}
    (run / "analysis").mkdir()
    (run / "analysis" / "state.json").write_text(json.dumps(damaged))
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        begun(transaction, transaction.session.get_one(Harvest, 1))

    assert look_at_logs(sqlite_database, threading.Event()) == [(2, "host-capped")]


@pytest.mark.usefixtures("run")
def test_the_scheduler_tells_once_of_an_alert(sqlite_database: Database) -> None:
    with Notifying(sqlite_database) as notifying:
        notifying.hear(notifying.person("curator"), "https://hooks.example.org/", event="job.crawl-alert")
    stop = threading.Event()

    first, second = look_at_logs(sqlite_database, stop), look_at_logs(sqlite_database, stop)
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        subjects = transaction.session.scalars(select(Notification.subject)).all()
        job = transaction.session.get_one(HarvestJob, 1)
        job.status = JobStatus.DONE
    look_at_logs(sqlite_database, stop)

    assert [rule for _, rule in first] == ["host-capped"]
    assert second == []
    assert len(subjects) == 1
    assert "capped.example.org: 1 URL was left out" in subjects[0]
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        notes = select(InstallationValue).where(InstallationValue.name.startswith("told-alert:"))
        assert transaction.session.scalars(notes).all() == []
