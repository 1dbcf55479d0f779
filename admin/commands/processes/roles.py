"""The commands `worker` and `indexer`, and two hidden ones for a supervisor, run one process each."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from admin.options import InputError, JobFailed, child_options, common, load_settings

if TYPE_CHECKING:
    from admin.fleet.child import ParentLink
    from archive.settings.load import Settings
    from archive.storage.upload import Uploader

_REVIVE_SECONDS: Final = 1.0
_MOST_NAMED: Final = 10
_CDX_THREADS: Final = 8
_CDX_GRACE_SECONDS: Final = 3
_MOST_CDX_CONNECTIONS: Final = 500


@click.command("worker")
@common
@click.option("--job", required=True, metavar="NAME", help="Name of a running job, or of its run with its timestamp.")
@click.option("--proxy", required=True, metavar="HOST:PORT", help="Main port of the recording proxies.")
@click.option(
    "--control",
    "controls",
    multiple=True,
    required=True,
    metavar="HOST:PORT",
    help="Control port of a recording process. Repeat for each process.",
)
@click.option("--redis-url", metavar="URL", help="Redis of the frontier.  [setting redis.url]")
@click.option("--name", default="", metavar="NAME", help="Name of this worker.  [host name and process id]")
@click.option(
    "--at-once", type=click.IntRange(1), metavar="N", help="Number of visits at once.  [setting browsers.workers]"
)
@click.option(
    "--log-dir",
    metavar="DIR",
    callback=lambda _ctx, _param, value: value and os.path.abspath(value),
    help="Folder of the job's crawl.log; the proxies must see the same path. A relative path begins in this folder.",
)
@click.option("--renders", is_flag=True, help="Visit the pages that wait for Chromium (rendering: asynchronous).")
@child_options
def worker(home: Path | None, settings_file: Path | None, at_once: int | None, **given: Any) -> None:
    """Visit the URLs of a job that the frontier hands out.

    The worker ends when the job is finished or stopped. SIGTERM finishes the visits in progress and gives all other
    URLs back to the frontier.
    """
    parent, settings = _begin(home, settings_file, given, "worker")
    from admin.jobs.interrupts import run_until_signal
    from browsers.behaviors.user_files.hosted import ScriptError
    from browsers.crawling.worker import run_worker
    from browsers.engines.interface import BrowserMissing
    from browsers.visit import FleetUnavailable
    from frontier.definition.job import JobError
    from frontier.store import FrontierLost

    redis_url = _redis_url(given["redis_url"], settings)
    job = _running_job(redis_url, settings, given["job"]) if parent.is_absent else given["job"]
    stop = threading.Event()

    def work() -> None:
        try:
            run_worker(
                settings,
                job=job,
                proxy=given["proxy"],
                controls=given["controls"],
                redis_url=redis_url,
                name=given["name"] or f"{socket.gethostname()}-{parent.pid}",
                concurrency=at_once
                or (settings.browsers.render_workers if given["renders"] else settings.browsers.workers),
                renders=given["renders"],
                stop=stop,
                log_dir=given["log_dir"],
            )
        except (BrowserMissing, ScriptError, FleetUnavailable, FrontierLost, JobError) as error:
            _refuse(parent, str(error))

    run_until_signal(work, stop)


@click.command("indexer")
@common
@click.option("--cdx-fd", type=int, default=-1, hidden=True)
@click.option("--redis-url", metavar="URL", help="Redis where captures are announced.  [setting redis.url]")
@click.option("--await-redis", is_flag=True, hidden=True)
@child_options
def indexer(
    home: Path | None,
    settings_file: Path | None,
    cdx_fd: int,
    redis_url: str | None,
    await_redis: bool,
    **given: Any,
) -> None:
    """Index new captures, and serve the capture index as a CDX server.

    With the setting storage.url the indexer also uploads finished WARC files. SIGTERM ends the indexer.
    """
    parent, settings = _begin(home, settings_file, given, "indexer")
    from admin.commands.processes.harvest_metrics import HarvestMetrics
    from admin.fleet import sockets
    from admin.fleet.frontier_metrics import FrontierMetrics
    from admin.fleet.render_metrics import RenderMetrics
    from admin.fleet.uploads import serve_metrics
    from admin.jobs.interrupts import run_until_signal
    from admin.serving.request_bodies import RequestBodies
    from admin.serving.web_server import ServerThread, server_config
    from admin.serving.wsgi_threads import WsgiThreads
    from archive.access_rules import AccessControl
    from archive.listener_access import Clients, HostNames, exposure
    from archive.local_endpoints import Listeners
    from archive.settings.values.secret_file import SecretUnreadable
    from archive.storage.presence import WarcFiles, home_name, is_alone
    from archive.storage.storage import StorageError
    from archive.storage.upload import Uploader
    from dedupdb.captures.capture_index import Captures
    from dedupdb.captures.schema import CapturesError
    from dedupdb.cdx.intake_pages import IntakePages
    from dedupdb.cdx.server import create_app
    from dedupdb.index.indexer import Indexer

    if problem := exposure(settings):
        _refuse(parent, problem)
    try:
        uploader = Uploader(settings) if settings.storage.url else None
        captures = Captures(settings.database_url)
        intake = IntakePages.of(settings, captures)
        listener = sockets.restricted(_cdx_socket(settings, cdx_fd), Clients(settings.admin.allow_clients))
    except (CapturesError, SecretUnreadable, sockets.PortError, StorageError) as error:
        _refuse(parent, str(error))
    stop = threading.Event()
    own_home = "" if is_alone(settings) and not parent.is_absent else home_name(settings)
    files = WarcFiles(settings)
    _await_redis(redis_url if await_redis else None)
    index = Indexer(redis_url or settings.redis.url, captures, settings.home, files=files, own_home=own_home)
    with captures, index:
        index.reconcile()
        names = HostNames(settings.admin.host, settings.admin.host_names, "admin.host_names")
        access = AccessControl(settings.home / "collections", settings.curation.access_policy())
        app = create_app(captures, names, access, settings.admin.memento_url, intake)
        redis = redis_url or settings.redis.url
        serve_metrics(
            app, uploader, RenderMetrics(settings, redis), FrontierMetrics(settings, redis), HarvestMetrics(settings)
        )
        listeners = Listeners(settings.home)
        listeners.add(listener)
        config = server_config(
            RequestBodies(WsgiThreads(app, _CDX_THREADS), intake.longest_body),
            grace_seconds=_CDX_GRACE_SECONDS,
            most_at_once=_MOST_CDX_CONNECTIONS,
        )
        server = ServerThread(config, [listener], "cdx")

        def work() -> None:
            parent.report_ready()
            if parent.is_absent:
                click.echo(json.dumps({"ready": True, "cdx": sockets.address(listener)}))
            with _uploading(uploader, stop):
                index.run(stop)

        try:
            run_until_signal(work, stop)
        finally:
            server.close()
            listeners.clear()


@click.command("_proxy-process", hidden=True)
@click.option("--index", type=int, required=True)
@click.option("--listen-fd", type=int, required=True)
@click.option("--control-fd", type=int, required=True)
@click.option("--redis-url", default="")
@click.option("--predecessor-fd", type=int, default=-1)
@click.option("--successor-fd", type=int, default=-1)
@click.option("--await-redis", is_flag=True)
@child_options
def proxy_process(await_redis: bool, **given: Any) -> None:
    """Run one recording process until SIGTERM, or until a new process has replaced it and all its requests are done."""
    name = f"proxy-{given['index']}"
    parent, settings = _begin(None, None, given, name)
    given["redis_url"] = _redis_url(given["redis_url"], settings)
    from archive.settings.load import SettingsError
    from archive.warc.writing.writer import KeepError
    from proxy.process.serve import ProcessContext, serve_process

    _await_redis(given["redis_url"] if await_redis else None)
    try:
        serve_process(settings, ProcessContext(**given), ready=parent.report_ready, retired=parent.report_retired)
    except SettingsError as error:  # settings that only the proxy can check, such as a certificate file
        _refuse(parent, str(error))
    except KeepError as error:
        parent.report_unfinished(f"{name}: {error}")
        raise JobFailed(str(error)) from error


@click.command("_redis", hidden=True)
@child_options
def private_redis(**given: Any) -> None:
    """Run the home's private Redis until SIGTERM, and restart it when it dies."""
    parent, settings = _begin(None, None, given, "redis-keeper")
    from admin.jobs.interrupts import Interrupts
    from frontier.private_redis.server import EmbeddedRedis, RedisProblem

    server = EmbeddedRedis(settings.home)
    with Interrupts() as interrupts:
        try:
            parent.report_ready(url=server.start().url)
            while not interrupts.wait(_REVIVE_SECONDS):
                server.revive()
        except RedisProblem as error:
            _refuse(parent, str(error))
        finally:
            server.stop()


def _begin(
    home: Path | None, settings_file: Path | None, given: dict[str, Any], title: str
) -> tuple[ParentLink, Settings]:
    from admin.fleet import home_folder, logs
    from admin.fleet.child import ParentLink

    parent = ParentLink.attach(
        given.pop("title") or title, given.pop("ready_fd"), given.pop("lifeline_fd"), given.pop("held_fds")
    )
    settings = load_settings(home, settings_file)
    logs.to_stderr(settings.logs)
    try:
        if mended := home_folder.prepare(settings.home, settings.archive.readable_by):
            click.echo(mended, err=True)
    except home_folder.HomeError as error:
        _refuse(parent, str(error))
    return parent, settings


def _refuse(parent: ParentLink, message: str) -> NoReturn:
    """End this process because it can't serve; tell the parent and the log why."""
    parent.report_unfit(message)
    raise InputError(message)


def _await_redis(url: str | None) -> None:
    """Wait for the home's Redis, which starts at the same time as this process. Return at once when `url` is None."""
    if url is not None:
        from frontier.private_redis.server import await_redis

        await_redis(url)


@contextmanager
def _uploading(uploader: Uploader | None, stop: threading.Event) -> Iterator[None]:
    """Upload finished files in a thread until `stop` is set and the last finished file is uploaded.

    Does nothing when there is no uploader.
    """
    if uploader is None:
        yield
        return
    thread = threading.Thread(target=uploader.run, args=(stop,), name="uploader")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _redis_url(chosen: str | None, settings: Settings) -> str:
    if url := chosen or settings.redis.url:
        return url
    raise InputError("no Redis is configured; give --redis-url, or set redis.url")


def _running_job(redis_url: str, settings: Settings, name: str) -> str:
    """Return the run of the job with this name. Raises InputError, with the names of the jobs that there are."""
    from archive.settings.values.redacted import without_secrets
    from frontier.store import FrontierUnavailable, job_names, latest_run

    try:
        known = job_names(redis_url, settings.frontier.shard, timeout_seconds=settings.redis.timeout_seconds)
    except FrontierUnavailable as error:
        raise InputError(str(error)) from error
    if (run := latest_run(name, known)) is not None:
        return run
    newest = sorted(known, key=lambda each: each[-14:], reverse=True)[:_MOST_NAMED]
    more = f" and {len(known) - len(newest)} more" if len(known) > len(newest) else ""
    there = f"it has {', '.join(newest)}{more}" if newest else "it has none; `ghostfleet crawl` opens one"
    raise InputError(f"--job {name}: Redis at {without_secrets(redis_url)} has no such job; {there}")


def _cdx_socket(settings: Settings, fd: int) -> socket.socket:
    from admin.fleet import sockets

    if fd >= 0:
        return socket.socket(fileno=fd)
    (listener,) = sockets.listen(settings.admin.host, settings.admin.cdx_port, option="the setting admin.cdx_port")
    return listener
