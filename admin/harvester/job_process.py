"""One job is crawled by a process of its own, the child of a harvester, in the way of `ghostfleet crawl`."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from admin.fleet.home_folder import HomeError
from admin.fleet.log_format import redacted
from admin.fleet.process import StartError, StartInterrupted
from admin.fleet.sockets import PortError
from admin.harvester.job_folder import PROFILE_FILE, SEEDS_FILE
from admin.jobs.crawling.crawl import Crawl
from admin.jobs.definition import Definition
from admin.jobs.interrupts import Interrupts
from admin.jobs.progress.display import PlainDisplay
from admin.jobs.runs import Run, RunError
from archive.settings.load import Settings
from archive.settings.values.redacted import HIDDEN, shown
from frontier.definition.job import JobError
from frontier.definition.profile import make_profile, with_lists_of
from frontier.definition.rules.list_files import LIST_FOLDER
from frontier.definition.seeds import SeedFile
from frontier.store import FrontierUnavailable

INTERRUPTED: Final = 130
_SECRET: Final = re.compile(
    r"(?:^|_)(?:\w*KEY|\w*SECRET|\w*TOKEN|PASS|\w*PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|AUTH|COOKIES?|DSN|SIGNATURE)(?:_|$)"
)
_OURS: Final = "GHOSTFLEET_"
_SETTINGS_NAME: Final = "GHOSTFLEET_SETTINGS_JSON"


class CannotBegin(Exception):
    """The crawl can't begin; the message is one line with the reason."""


def run_job(settings: Settings, folder: Path, job_name: str, presence_fd: int, ready: Callable[[str], None]) -> int:
    """Crawl the job of this folder to its end. Return the exit code of `ghostfleet crawl`.

    `ready` is called with the run's folder. Raises CannotBegin.
    """
    _say_how_it_was_started(settings)
    definition = _definition(folder, settings.proxy.collection, job_name, settings.home / LIST_FOLDER)

    def begun(run: Run) -> None:
        ready(str(run.folder))

    with Interrupts() as interrupts:
        display = PlainDisplay(_say)
        fds = (presence_fd,) if presence_fd >= 0 else ()
        try:
            crawl = Crawl(settings, definition, display, interrupts, begun=begun, is_supervised=True, fds=fds)
            summary = crawl.run()
        except StartInterrupted:
            return INTERRUPTED
        except (PortError, HomeError, StartError, RunError, JobError, FrontierUnavailable) as error:
            raise CannotBegin(str(error)) from error
        for line in summary.lines():
            _say(line)
        return INTERRUPTED if interrupts.asked_to_hurry() else summary.exit_code


def environment_lines(environment: Mapping[str, str], settings: Settings) -> list[str]:
    """Return the environment, a variable on each line, without the values of secrets.

    Variables of ours are settings: those in force stand on one line, which takes their place.
    """
    others = {name: value for name, value in environment.items() if not name.startswith(_OURS)}
    lines = [f"{name}={HIDDEN if _SECRET.search(name.upper()) else value}" for name, value in others.items()]
    values = {name: shown(name, value) for name, value in settings.model_dump(mode="json").items()}
    for section, value in values.items():
        if isinstance(value, dict):
            values[section] = {key: shown(f"{section}.{key}", part) for key, part in value.items()}
    settings_line = f"{_SETTINGS_NAME}={json.dumps(values, ensure_ascii=False)}"
    return sorted(redacted(line.replace("\n", "\\n")) for line in [*lines, settings_line])


def _say_how_it_was_started(settings: Settings) -> None:
    _say(f"command line: {' '.join(sys.orig_argv)}")
    _say("environment:")
    for line in environment_lines(os.environ, settings):
        _say(f"  {line}")


def _definition(folder: Path, collection: str, job_name: str, lists: Path) -> Definition:
    try:
        profile: dict[str, Any] = json.loads((folder / PROFILE_FILE).read_text("utf-8"))
        made = make_profile(profile, "the profile of the job")
        (folder / SEEDS_FILE).stat()
        return Definition(collection, job_name, SeedFile(folder / SEEDS_FILE), with_lists_of(made, lists))
    except (OSError, ValueError) as error:
        raise CannotBegin(str(error)) from error


def _say(line: str) -> None:
    print(line, flush=True)
