"""The dashboard and the page of metrics name the metrics that a running proxy and an indexer with uploads export."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.processes.ghostfleet_command import Command
from support.proxy.proxy_process import ProxyProcess

from admin.harvests.stock import prepare
from admin.models.database import open_database
from archive.settings import FrontierSettings
from archive.settings.load import load
from frontier.definition.job import Job, Profile
from frontier.lease import Lease
from frontier.queue import Frontier

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "grafana"


@pytest.fixture(scope="module")
def dashboard() -> dict[str, Any]:
    found = json.loads((FOLDER / "ghostfleet.json").read_text("utf-8"))
    assert isinstance(found, dict)
    return found


def asked(dashboard: dict[str, Any]) -> set[str]:
    """The names of all metrics in the dashboard's queries."""
    texts = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    texts += [variable.get("definition", "") for variable in dashboard["templating"]["list"]]
    return {name for text in texts for name in re.findall(r"\bghostfleet_\w+", text)}


def exported(text: str) -> set[str]:
    """The names of all samples of an exposition; the _created of counters are no use in queries."""
    names = {re.split(r"[{ ]", line, maxsplit=1)[0] for line in text.splitlines() if not line.startswith("#")}
    return {name for name in names if name.startswith("ghostfleet_") and not name.endswith("_created")}


def test_every_metric_of_the_dashboard_is_in_a_live_proxy(
    dashboard: dict[str, Any], tmp_path: Path, redis_url: str
) -> None:
    storage = {"GHOSTFLEET_STORAGE__URL": str(tmp_path / "target"), "GHOSTFLEET_ADMIN__CDX_PORT": "0"}
    job = Job.of("spring", "garden", ["http://example.org/"], Profile())
    frontier = Frontier(redis_url, job, FrontierSettings())
    frontier.open_job()
    page = frontier.claim("worker-0")
    assert isinstance(page, Lease)
    frontier.renders.add(page, [])
    database = open_database(load({"home": str(tmp_path / "other")}, environment={}))
    prepare(database)
    database.close()
    with Command("indexer", "--redis-url", redis_url, home=tmp_path / "other", **storage) as indexer:
        uploads = httpx.get(f"http://{indexer.line(ready=True)['cdx']}/metrics", trust_env=False).text
        indexer.signal(signal.SIGTERM)
        assert indexer.ended() == 0, indexer.stderr
    frontier.forget()
    frontier.close()
    with ProxyProcess(tmp_path / "home", redis_url) as proxy:
        token = (proxy.home / "control.token").read_text("ascii").strip()
        answer = httpx.get(
            f"http://{proxy.ready['controls'][0]}/metrics",
            headers={"Authorization": f"Bearer {token}"},
            trust_env=False,
        )
        main = proxy.metrics()

    assert answer.status_code == 200, "as deploy/grafana/prometheus.yml scrapes it"
    assert exported(answer.text) == exported(main)
    ours = exported(main) | exported(uploads)
    assert len(exported(uploads)) == 8 + 7 + 12 + 4
    assert 'ghostfleet_renders_queued{crawl="spring"} 1.0' in uploads
    assert 'ghostfleet_frontier_active{crawl="spring"} 1.0' in uploads
    assert 'ghostfleet_workers_active{crawl="spring"} 1.0' in uploads
    assert 'ghostfleet_harvest_jobs{state="NEW"} 0.0' in uploads
    assert "ghostfleet_scheduler_works 0.0" in uploads
    assert asked(dashboard) - ours == set()
    page = (FOLDER.parents[1] / "docs" / "reference" / "metrics.md").read_text("utf-8")
    assert set(re.findall(r"^\| `(ghostfleet_\w+)`", page, re.MULTILINE)) == ours
    assert ours - asked(dashboard) == set(), "what is exported but shown nowhere"


def test_panels_do_not_overlap_and_have_numbers_of_their_own(dashboard: dict[str, Any]) -> None:
    panels = dashboard["panels"]
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]

    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(panel["description"] for panel in panels)
