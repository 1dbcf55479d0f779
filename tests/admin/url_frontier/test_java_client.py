"""The Java stubs that crawler-commons publish talk with the service.

URLFRONTIER_CLASSPATH is the class path of com.github.crawler-commons:urlfrontier-API, as
`mvn dependency:build-classpath` prints it for a project with this dependency.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support.processes.machine_needs import program
from support.stores.real_frontier import Bench

from admin.url_frontier.server import FrontierServer
from archive.settings.urlfrontier import UrlFrontierSettings

SOURCE = Path(__file__).with_name("JavaClient.java")


def test_the_stubs_of_crawler_commons_add_take_and_finish_urls(redis_url: str) -> None:
    class_path = os.environ.get("URLFRONTIER_CLASSPATH") or pytest.skip("URLFRONTIER_CLASSPATH names no stubs")
    java = program("java", "apt-get install default-jdk-headless")
    bench = Bench(redis_url)
    server = FrontierServer(
        "spring", bench.frontier("http://a.example/", "http://b.example/"), UrlFrontierSettings(port=0)
    )
    server.start()

    told = subprocess.run(
        [java, "-cp", class_path, SOURCE, server.address], capture_output=True, text=True, timeout=100, check=False
    )

    server.stop()
    bench.close()
    assert told.stdout.splitlines() == [
        "crawls [spring]",
        "OK http://a.example/1",
        "visit http://a.example/ of a.example",
        "visit http://b.example/ of b.example",
        "OK http://a.example/",
        "OK http://b.example/",
        "queued 1, done 2",
    ], told.stderr
