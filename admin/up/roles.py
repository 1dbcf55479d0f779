"""These functions describe the child processes that `ghostfleet up` adds to a fleet."""

from __future__ import annotations

import socket

from admin.fleet.fleet import Fleet
from admin.fleet.process import ProcessRole, ShutdownStage
from admin.harvester.harvester import default_name
from admin.jobs.crawling.crawl import single_machine_settings
from archive.settings.load import Settings

_SITE_SECONDS = 30.0
_SCHEDULER_SECONDS = 120.0
"""The scheduler undoes the drafts of a run that it can't finish."""
_FINISHING_SECONDS = 600.0
"""After its crawl, a harvester writes the metadata file, uploads and reports."""
_HURRIED_SECONDS = 30.0


def site_role(settings: Settings, listener: socket.socket, replay: socket.socket) -> ProcessRole:
    """Return the role of the admin site, which listens on a socket of the parent."""
    ports = {"port": listener.getsockname()[1], "replay_port": replay.getsockname()[1]}
    chosen = settings.model_copy(update={"admin": settings.admin.model_copy(update=ports)})
    return ProcessRole(
        "admin",
        ShutdownStage.PROXIES,
        ("admin", "--listen-fd", str(listener.fileno())),
        does="load its pages",
        fds=(listener.fileno(),),
        stop_seconds=_SITE_SECONDS,
        environment=chosen.for_child(),
    )


def replay_role(settings: Settings, fleet: Fleet, listener: socket.socket, control: socket.socket) -> ProcessRole:
    """Return the role of the replay proxy: a process like the recording ones that answers from the archive alone."""
    changes = {"mode": "replay", "processes": 1, "port": listener.getsockname()[1], "session_ports": ""}
    chosen = settings.model_copy(update={"proxy": settings.proxy.model_copy(update=changes)})
    fds = (listener.fileno(), control.fileno())
    return ProcessRole(
        "replay",
        ShutdownStage.PROXIES,
        (
            "_proxy-process",
            *("--index", "0", "--listen-fd", str(fds[0]), "--control-fd", str(fds[1])),
            *fleet.redis_arguments(),
        ),
        does="load its code",
        fds=fds,
        stop_seconds=_SITE_SECONDS,
        environment=chosen.for_child(),
    )


def view_role(settings: Settings, listener: socket.socket) -> ProcessRole:
    """Return the role of the viewer, which people reach by the links of the admin site."""
    port = {"port": listener.getsockname()[1]}
    chosen = settings.model_copy(update={"view": settings.view.model_copy(update=port)})
    return ProcessRole(
        "view",
        ShutdownStage.PROXIES,
        ("view", "--tickets", "--listen-fd", str(listener.fileno())),
        does="load its pages",
        fds=(listener.fileno(),),
        stop_seconds=_SITE_SECONDS,
        environment=chosen.for_child(),
    )


def scheduler_role() -> ProcessRole:
    """Return the role of the scheduler."""
    return ProcessRole("scheduler", ShutdownStage.WORKERS, ("scheduler",), stop_seconds=_SCHEDULER_SECONDS)


def qa_role(settings: Settings) -> ProcessRole:
    """Return the role of the QA process, which starts proxies and a browser only while there is work."""
    return ProcessRole(
        "qa", ShutdownStage.WORKERS, ("qa", "work"), stop_seconds=_SITE_SECONDS, environment=settings.for_child()
    )


def capture_role(settings: Settings) -> ProcessRole:
    """Return the role of the process that records what people capture, with a proxy only while it is needed."""
    return ProcessRole(
        "capture",
        ShutdownStage.WORKERS,
        ("session", "work"),
        stop_seconds=_SITE_SECONDS,
        environment=settings.for_child(),
    )


def harvester_role(settings: Settings, channel: str, number: int) -> ProcessRole:
    """Return the role of the harvester with this number, from 1 on, of a channel.

    Each crawl has recording proxies of its own, which must not want the ports of the installation's.
    """
    single = single_machine_settings(settings)
    chosen = single.model_copy(
        update={
            "proxy": single.proxy.model_copy(update={"port": 0, "control_port": 0}),
            "admin": single.admin.model_copy(update={"cdx_port": 0}),
        }
    )
    name = default_name(channel) + (f"-{number}" if number > 1 else "")
    return ProcessRole(
        harvester_title(channel, number),
        ShutdownStage.WORKERS,
        ("harvester", "--channel", channel, "--name", name),
        does="register",
        stop_seconds=settings.harvester.process_seconds + _FINISHING_SECONDS,
        hurried_seconds=_HURRIED_SECONDS,
        environment=chosen.for_child(),
    )


def harvester_title(channel: str, number: int) -> str:
    """Return the name of a harvester as a part of the installation: `harvester-FOCUSED`, `harvester-FOCUSED-2`."""
    return f"harvester-{channel}" + (f"-{number}" if number > 1 else "")
