"""The ghost visits each page with Chromium, through a session port and in a fresh context.

Worker threads call `visit`. The engine runs on one event loop in a thread of its own. There, visits share one browser
at the same time. The browser is replaced after a number of visits, and when it is broken.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from archive.dates import now_micros
from archive.json_text import compact_json
from archive.settings import BrowserSettings
from archive.settings.load import Settings
from archive.url import host_of
from browsers.behaviors.page_tools import observer
from browsers.behaviors.user_files.scripts import BehaviorScripts
from browsers.engines.choice import ProxyTrust, engine_start
from browsers.engines.files import BrowserDown
from browsers.engines.interface import (
    BrowserMissing,
    BrowserWindow,
    Device,
    DialogAnswer,
    Engine,
    EngineError,
    HttpCredentials,
    InitScript,
    WindowOptions,
)
from browsers.engines.png import packed
from browsers.engines.traffic import Traffic
from browsers.ghosts import page_outcome
from browsers.ghosts.page import Deadline, PageSnapshot, visit_page
from browsers.ghosts.page_records import (
    PageRecord,
    PageVisit,
    budget_flaws,
    derived_records,
    evidence_of,
    fetched_urls,
    found_links,
    page_info_record,
)
from browsers.ghosts.site_caches import SiteKey, is_archived, is_finished, is_given_back
from browsers.ghosts.visit_place import VisitPlace, VisitPlaces
from browsers.logins.browser_profile import BrowserProfile, LoginCheck
from browsers.logins.form_login import LoginFailed, is_logged_in, state_of
from browsers.logins.login_book import LoginBook
from browsers.logins.profile_store import ProfileStore, ProfileUnusable
from browsers.logins.renewal import logged_in
from browsers.logins.site_data import SiteData
from browsers.page_quality.assessment import flaws_of
from browsers.page_quality.flaws import PageFlaw, PageFlawType
from browsers.page_quality.missing_page import look_of
from browsers.proxying.control_client import Control, ProxySession, SessionExchanges, SessionRequest
from browsers.stage_times import StageTimes
from browsers.visit import (
    UNRECORDED,
    UNRECORDED_OF_RESPONSES,
    FleetUnavailable,
    FoundLink,
    OwnHeaders,
    PageLook,
    Visit,
    VisitOrder,
)

log = logging.getLogger(__name__)
_WRITES_AT_ONCE: Final = 8
"""Number of records of pages that are written at the same time."""
_LEAST_CLOSE_SECONDS: Final = 1.0
"""The proxy gets this time to end a session at least."""
_MOST_RENEWALS: Final = 20
"""So often a visitor logs in again."""
_NO_CREDENTIALS: Final = HttpCredentials("", "", "")
"""A browser that may be asked for credentials asks each window, also one that has none for any site."""
_NO_SERVICE_WORKERS: Final = InitScript("delete Navigator.prototype.serviceWorker")


class ChromiumVisitor:
    """The visitor visits pages like a person's browser. It is safe to use from several threads."""

    name = "chromium"

    def __init__(
        self,
        settings: Settings,
        controls: Sequence[Control],
        trusted: ProxyTrust,
        headers: OwnHeaders | None = None,
        profile: BrowserProfile | None = None,
        *,
        logins: LoginBook | None = None,
        has_display: bool = False,
    ) -> None:
        """`trusted` is from `engines.choice.proxy_trust`. `logins` has the logins of the visits.

        `profile` is short for a book with one login for all visits.

        With `has_display`, people see the windows and can use them.

        Raises BrowserMissing when there is no browser, and ScriptError for a file with behaviours that can't be used.
        """
        self._logins = logins or LoginBook(profile)
        self._answers_401 = self._logins.waits_for_question
        self._site_data = SiteData()
        self._renewing = threading.Lock()
        self._renewals = 0
        self._has_shown_login = True
        """Whether the last checked page showed the login; a renewal that did not help is not repeated."""
        self._settings = settings
        self._own = headers or OwnHeaders()
        self._scripts = BehaviorScripts(settings.browsers)
        hosts = [control.address.rpartition(":")[0] for control in controls]
        self._device = device_of(settings.browsers)
        start = engine_start(
            settings.browsers, trusted, hosts, self._device, has_display=has_display, answers_401=self._answers_401
        )
        self._engines = _Engines(start, settings.browsers.contexts_per_browser)
        self._loop = _LoopThread("ghosts")
        self._places = VisitPlaces(controls, self._loop.run)
        self._writers = ThreadPoolExecutor(_WRITES_AT_ONCE, "ghost-records")

    def open(self) -> None:
        """Start the first browser before the first visit. Raises BrowserMissing when it does not start."""
        try:
            self._loop.run(self._engines.begin())
        except BrowserDown as error:
            raise BrowserMissing(error.complaint) from error

    def visit(self, order: VisitOrder) -> Visit:
        """Return the status of the final document, with the links of the page at the end of the visit."""
        began = time.monotonic()
        page_id = str(uuid.uuid4())
        times = StageTimes()
        with times.measure("session"):
            profile = self._logins.for_url(order.url)
            request = self._session_request(order, page_id, profile)
            place = self._places.begin(request, self._site_key(order, profile))
        try:
            visit = self._visit_in(place, order, profile, page_id, times, began)
        except BaseException:
            self._places.close(place)
            raise
        log.debug("%s took %s", order.url, compact_json(times.seconds()))
        return visit

    def _visit_in(
        self,
        place: VisitPlace,
        order: VisitOrder,
        profile: BrowserProfile | None,
        page_id: str,
        times: StageTimes,
        began: float,
    ) -> Visit:
        """Return the result of the visit. The context of the place is kept, or it is closed."""
        control, session, settings = place.control, place.session, self._settings.browsers
        kept = SessionExchanges()
        try:
            page_visit, trouble = self._loop.run(self._visit_page(order, profile, place, page_id, times))
            ending = Deadline(settings.close_seconds)
            self._places.close_unless_calm(place, settings.close_seconds)
            if page_visit.is_logged_out and trouble is None and self._renews(control, order.url, profile):
                trouble = FleetUnavailable("login-renewed", may_be_the_page=True)
            with times.measure("link-search"):
                found = found_links(order.url, page_visit.snapshot, fetched_urls(order.url, page_visit.asked))
            if page_visit.snapshot.is_page and trouble is None:
                with times.measure("flaws"):
                    page_visit = replace(page_visit, flaws=_flaws(page_visit, profile))
                kept = self._write_records(control, session, page_visit, found.links, ending)
        except BaseException:
            self._abandon(control, session)
            raise
        if trouble is None and page_visit.snapshot.fell_with_another:
            trouble = FleetUnavailable("browser-lost")
        if trouble is None and page_visit.snapshot.crashed:
            word = "out-of-memory" if page_visit.snapshot.out_of_memory else "browser-crashed"
            trouble = FleetUnavailable(
                word, may_be_the_page=True, trouble=page_outcome.troubles(page_visit.snapshot)[0]
            )
        if trouble is not None:
            self._abandon(
                control, session
            )  # another visit follows, so that the captures of this one need not be waited for
            raise trouble
        with times.measure("session-end"):
            wait_seconds = max(ending.left(math.inf), _LEAST_CLOSE_SECONDS)
            report = control.finish(session, wait_seconds=wait_seconds, keep_port_seconds=place.keep_port_seconds)
        visit = page_outcome.visit_of(page_visit, found, report, round((time.monotonic() - began) * 1000))
        if settings.soft_404_check:
            visit = replace(visit, look=_look(order.url, page_visit.snapshot))
        if (
            place.key is not None
            and is_archived(place.key, page_visit.exchanges, kept, report)
            and not is_given_back(page_visit.snapshot, page_visit.flaws, settings.retry_for)
        ):
            self._places.keep(place)
        self._places.give_up(place)
        return visit

    def _site_key(self, order: VisitOrder, profile: BrowserProfile | None) -> SiteKey | None:
        """Return the key of the contexts that the visit may use; None when contexts are not kept.

        With a login by HTTP they are not, since requests are intercepted then.
        """
        options = self._options("", profile)
        if self._settings.browsers.cache != "site" or options.http_login is not None:
            return None
        return SiteKey.of(order, options, profile)

    def look(self, order: VisitOrder) -> tuple[int, PageLook | None]:
        """Return the status of a page and its look, without behaviours and without records of the page.

        Raises FleetUnavailable.
        """
        settings = self._settings.browsers.model_copy(update={"behaviors": (), "page_records": ("text",)})
        control = self._places.next_control()
        profile = self._logins.for_url(order.url)
        session = control.open(self._session_request(order, str(uuid.uuid4()), profile))
        try:
            snapshot = self.in_window(session.address, lambda window: visit_page(window, order.url, settings), profile)
        except EngineError as error:
            raise FleetUnavailable("browser-crashed", may_be_the_page=True) from error
        finally:
            self._abandon(control, session)
        return snapshot.main.status if snapshot.main else 0, _look(order.url, snapshot)

    def in_window[T](
        self,
        proxy: str,
        work: Callable[[BrowserWindow], Coroutine[Any, Any, T]],
        profile: BrowserProfile | None = None,
    ) -> T:
        """Return the result of `work` with a fresh window that fetches through `proxy`. Raises EngineError.

        The window has the login of `profile`.
        """

        async def run() -> T:
            async with self._engines.lend() as engine:
                window = await engine.open(self._options(proxy, profile))
                try:
                    return await work(window)
                finally:
                    await window.close()

        return self._loop.run(run())

    def _session_request(self, order: VisitOrder, page_id: str, profile: BrowserProfile | None) -> SessionRequest:
        """Return the request for the session of a visit, in which the secrets of its login are not recorded."""
        return SessionRequest.for_page(order, page_id, self._unrecorded(profile), _unrecorded_of_responses(profile))

    def _unrecorded(self, profile: BrowserProfile | None) -> tuple[str, ...]:
        """Return the names of the request headers whose values are not recorded."""
        return (*self._own.unrecorded, *(UNRECORDED if profile is not None else ()))

    def _renews(self, control: Control, url: str, used: BrowserProfile | None) -> bool:
        """Log in again when a visit of the URL with the profile `used` showed no login.

        Return whether there is a new login.
        """
        if used is None or not used.can_be_renewed:
            return False
        with self._renewing:
            if self._logins.for_url(url) is not used:
                return True  # another visit has renewed the login meanwhile
            store = ProfileStore(self._settings.home)
            try:
                stored = store.load(used.name)
                if stored.created > used.created:
                    self._logins.renew(used, stored)  # another worker has renewed the login
                    return True
                if self._renewals >= _MOST_RENEWALS or not self._has_shown_login:
                    return False
                self._renewals += 1
                self._has_shown_login = False
                renewed = self._new_login(control, used)
                self._logins.renew(used, renewed)
                self._site_data.forget()
                self._places.caches.clear()
                store.save(renewed)
            except (LoginFailed, ProfileUnusable, EngineError) as error:
                log.warning("the login of browser profile %s can't be renewed: %s", used.name, error)
                return False
        log.info("the login of browser profile %s was renewed", used.name)
        return True

    def _new_login(self, control: Control, profile: BrowserProfile) -> BrowserProfile:
        """Log in through a session that archives nothing."""
        session = control.open(SessionRequest("logins", mode="live", listen=True))
        try:
            fresh = replace(profile, cookies=(), storage={})
            return self.in_window(session.address, lambda window: logged_in(window, profile), fresh)
        finally:
            self._abandon(control, session)

    def _options(self, proxy: str, profile: BrowserProfile | None) -> WindowOptions:
        http_login = profile.http if profile is not None else None
        if http_login is None and self._answers_401:
            http_login = _NO_CREDENTIALS
        return WindowOptions(
            proxy,
            self._device,
            self._own.values,
            dialogs=DialogAnswer(self._settings.browsers.dialogs),
            popup_seconds=self._settings.browsers.popup_seconds,
            init_scripts=(observer(), *self._without_workers, *(profile.init_scripts if profile is not None else ())),
            cookies=profile.cookies if profile is not None else (),
            http_login=http_login,
            passes_by_service_workers=self._settings.browsers.service_workers == "refetched",
        )

    @property
    def _without_workers(self) -> tuple[InitScript, ...]:
        """Return the script that takes the interface of service workers away from pages, when none shall run."""
        return (_NO_SERVICE_WORKERS,) if self._settings.browsers.service_workers == "off" else ()

    async def _shows_no_login(
        self, window: BrowserWindow, snapshot: PageSnapshot, profile: BrowserProfile | None
    ) -> bool:
        """Return whether the page must show the login of the profile, and does not."""
        check = profile.check if profile is not None else LoginCheck()
        is_checked = snapshot.is_page and snapshot.dom is not None and check.applies_to(snapshot.final_url)
        if not is_checked:
            return False
        is_shown = await is_logged_in(window, check)
        self._has_shown_login = self._has_shown_login or is_shown
        return not is_shown

    def _write_records(
        self,
        control: Control,
        session: ProxySession,
        page_visit: PageVisit,
        links: tuple[FoundLink, ...],
        ending: Deadline,
    ) -> SessionExchanges:
        """Write the records of the page. The last one compares the browser's requests with the proxy's captures.

        Return the proxy's list.
        """

        def write(record: PageRecord) -> None:
            facts = page_visit.window if record.kind == "resource" else None
            block = packed(record.block) if record.content_type == "image/png" else record.block
            control.write(session, record.kind, record.uri, record.content_type, block, facts)

        settings, times = self._settings.browsers, page_visit.snapshot.times
        with times.measure("records"):
            # A record is durable when the proxy answers, and several at once share one flush to the disk.
            written = [self._writers.submit(write, each) for each in derived_records(page_visit, links, settings)]
            wait(written)  # none may go on after an error of another one
            for each in written:
                each.result()
        with times.measure("captures"):
            kept = control.exchanges(session, wait_seconds=ending.left(math.inf))
        with times.measure("page-info"):
            write(page_info_record(page_visit, links, kept))
        return kept

    def close(self) -> None:
        """Close the browsers and their loop."""
        self._places.caches.clear()
        self._loop.run(self._engines.close())
        self._loop.close()
        self._writers.shutdown()

    def _abandon(self, control: Control, session: ProxySession) -> None:
        with suppress(FleetUnavailable):  # a proxy that has ended has no sessions
            control.finish(session, wait_seconds=1)

    async def _visit_page(
        self, order: VisitOrder, profile: BrowserProfile | None, place: VisitPlace, page_id: str, times: StageTimes
    ) -> tuple[PageVisit, FleetUnavailable | None]:
        settings = self._settings.browsers
        moment = now_micros()
        traffic = Traffic()
        async with self._engines.lend(times) as engine:
            snapshot = PageSnapshot(crashed=True, times=times)
            hosted = self._scripts.for_page(order.url)
            options = replace(self._options(place.session.address, profile), context=await place.context_for(engine))
            options = replace(
                options,
                init_scripts=(*options.init_scripts, *(script for each in hosted for script in each.init_scripts)),
                bindings=[binding for each in hosted for binding in each.bindings],
            )
            host, keeps = host_of(order.url), settings.storage == "site-data"
            if keeps:
                options = replace(
                    options,
                    init_scripts=(*options.init_scripts, *self._site_data.init_scripts(host)),
                    cookies=(*options.cookies, *self._site_data.cookies(host)),
                )
            is_logged_out = False
            with suppress(EngineError):
                with times.measure("window"):
                    window = await engine.open(options)
                traffic = window.traffic
                try:
                    snapshot = await visit_page(window, order.url, settings, hosted, times)
                    snapshot.fell_with_another = snapshot.crashed and window.fell_with_another
                    snapshot.out_of_memory = (
                        snapshot.crashed and not snapshot.fell_with_another and window.ended_for_memory()
                    )
                    is_logged_out = await self._shows_no_login(window, snapshot, profile)
                    if keeps and snapshot.is_page:
                        kept = await state_of(window, BrowserProfile("site-data", order.url, moment))
                        self._site_data.keep(host, kept)
                finally:
                    with times.measure("window-close"):
                        if place.key is not None and is_finished(snapshot) and traffic.trouble is None:
                            place.context = await window.leave()
                        else:
                            await window.close()
            browser = f"{engine.name}/{engine.version}"
        page_visit = PageVisit(
            order,
            page_id,
            moment,
            snapshot,
            dict(traffic.asked),
            traffic.requests,
            browser,
            self._device.width,
            self._device.height,
            self._device.scale,
            tuple(traffic.exchanges),
            unrecorded=(*self._unrecorded(profile), *_unrecorded_of_responses(profile)),
            is_logged_out=is_logged_out,
        )
        return page_visit, traffic.trouble


def _flaws(page_visit: PageVisit, profile: BrowserProfile | None) -> tuple[PageFlaw, ...]:
    found = (*flaws_of(evidence_of(page_visit)), *budget_flaws(page_visit.snapshot.behaviors.outcomes))
    if page_visit.is_logged_out and profile is not None:
        return (*found, PageFlaw(PageFlawType.LOGGED_OUT, profile.name))
    return found


def _unrecorded_of_responses(profile: BrowserProfile | None) -> tuple[str, ...]:
    """Return the names of the response headers whose values are not recorded."""
    return UNRECORDED_OF_RESPONSES if profile is not None else ()


def _look(url: str, snapshot: PageSnapshot) -> PageLook | None:
    """Return the look of a page before its behaviours; None for a document that is no page, or without a text."""
    return look_of(url, snapshot.title, snapshot.text) if snapshot.is_page and snapshot.text else None


def device_of(settings: BrowserSettings) -> Device:
    """Return the device that the settings describe."""
    return Device(
        settings.width,
        settings.height,
        scale=settings.scale,
        has_touch=settings.touch,
        is_mobile=settings.mobile,
        user_agent=settings.user_agent,
        timezone=settings.timezone,
        dark=settings.dark,
    )


@dataclass(slots=True, eq=False)
class _Running:
    """A running engine has visits."""

    engine: Engine
    used: int = 0
    """Number of visits so far."""
    busy: int = 0
    """Number of present visits."""

    def is_spent(self, most: int) -> bool:
        """Return whether the next visit needs a new engine."""
        return self.engine.is_broken or self.used >= most


class _Engines:
    """The object has the current engine, and starts another when the current one is used up."""

    def __init__(self, start: Callable[[], Awaitable[Engine]], visits_per_engine: int) -> None:
        self._start = start
        self._visits_per_engine = visits_per_engine
        self._current: _Running | None = None
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def lend(self, times: StageTimes | None = None) -> AsyncIterator[Engine]:
        """Lend an engine for one visit. The start of an engine is a stage of `times`."""
        async with self._lock:
            with (times or StageTimes()).measure("browser-start"):
                running = await self._ready()
            running.used += 1
            running.busy += 1
        try:
            yield running.engine
        finally:
            running.busy -= 1
            if not running.busy and running.is_spent(self._visits_per_engine):
                if running is self._current:
                    self._current = None
                await running.engine.stop()

    async def begin(self) -> None:
        """Start an engine for the first visit."""
        async with self._lock:
            await self._ready()

    async def close(self) -> None:
        """Stop the engine. Current visits fail."""
        running, self._current = self._current, None
        if running is not None:
            await running.engine.stop()

    async def _ready(self) -> _Running:
        current = self._current
        if current is None or current.is_spent(self._visits_per_engine):
            current = self._current = _Running(await self._start())
        return current


class _LoopThread:
    """An event loop runs in a thread, and other threads give it coroutines."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(_note)
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def run[T](self, work: Coroutine[Any, Any, T]) -> T:
        """Run the coroutine and return its result, or raise its error."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """Stop the loop after the ready callbacks have run."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=30)
        self._loop.close()


def _note(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log errors of futures that nobody waits for when a browser ends."""
    log.debug("%s: %r", context.get("message"), context.get("exception"))
