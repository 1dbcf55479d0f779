"""The ghost visits each page with a browser, through a session port and in a fresh context.

Worker threads call `visit`. The browser runs on one event loop in a thread of its own. There, visits share one browser
at the same time.
"""

from __future__ import annotations

import logging
import math
import time
import uuid
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from archive.dates import now_micros
from archive.json_text import compact_json
from archive.settings.load import Settings
from browsers.behaviors.user_files.scripts import BehaviorScripts
from browsers.engines.choice import ProxyTrust, engine_start
from browsers.engines.engine_pool import EnginePool
from browsers.engines.files import BrowserDown
from browsers.engines.interface import BrowserMissing, BrowserWindow, Engine, EngineError, WindowOptions
from browsers.engines.traffic import Traffic
from browsers.ghosts import page_outcome
from browsers.ghosts.loop_thread import LoopThread
from browsers.ghosts.page import Deadline, PageSnapshot, visit_page
from browsers.ghosts.page_random import new_seed, random_script
from browsers.ghosts.page_records import PageVisit, budget_flaws, evidence_of
from browsers.ghosts.record_writer import RecordWriter
from browsers.ghosts.site_caches import SiteKey, is_archived, is_finished, is_given_back
from browsers.ghosts.visit_place import VisitPlace, VisitPlaces
from browsers.ghosts.window_options import device_of, window_options
from browsers.logins.browser_profile import BrowserProfile
from browsers.logins.form_login import state_of
from browsers.logins.login_book import LoginBook
from browsers.logins.renewal import LoginRenewal, logged_in
from browsers.logins.site_data import SiteData
from browsers.page_quality.assessment import flaws_of
from browsers.page_quality.flaws import PageFlaw, PageFlawType
from browsers.proxying.control_client import Control, ProxySession, SessionExchanges, SessionRequest
from browsers.stage_times import StageTimes
from browsers.visit import (
    UNRECORDED,
    UNRECORDED_OF_RESPONSES,
    FleetUnavailable,
    OwnHeaders,
    PageLook,
    Visit,
    VisitOrder,
)

log = logging.getLogger(__name__)
_LEAST_CLOSE_SECONDS: Final = 1.0
"""The proxy gets this time to end a session at least."""


class Ghost:
    """The ghost visits pages like a person's browser. It is safe to use from several threads."""

    name = "browser"

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
        self._settings = settings
        self._own = headers or OwnHeaders()
        self._scripts = BehaviorScripts(settings.browsers)
        hosts = [control.address.rpartition(":")[0] for control in controls]
        self._device = device_of(settings.browsers)
        start = engine_start(
            settings.browsers, trusted, hosts, self._device, has_display=has_display, answers_401=self._answers_401
        )
        self._engines = EnginePool(start, settings.browsers.contexts_per_browser)
        self._loop = LoopThread("ghosts")
        self._places = VisitPlaces(controls, self._loop.run)
        self._renewal = LoginRenewal(settings.home, self._logins, self._forget_site_data)
        self._records = RecordWriter(settings.browsers)

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
            _abandon(control, session)
        return snapshot.main.status if snapshot.main else 0, page_outcome.page_look(order.url, snapshot)

    def in_window[T](
        self,
        proxy: str,
        work: Callable[[BrowserWindow], Coroutine[Any, Any, T]],
        profile: BrowserProfile | None = None,
        prepare: Callable[[WindowOptions], WindowOptions] = lambda options: options,
    ) -> T:
        """Return the result of `work` with a fresh window that fetches through `proxy`. Raises EngineError.

        The window has the login of `profile`. `prepare` may change the window's options.
        """
        options = prepare(
            window_options(self._settings.browsers, self._own, proxy, profile, answers_401=self._answers_401)
        )

        async def run() -> T:
            async with self._engines.lend() as engine:
                window = await engine.open(options)
                try:
                    return await work(window)
                finally:
                    await window.close()

        return self._loop.run(run())

    def break_off(self) -> None:
        """End the browser, so that all present visits fail at once. The next visit starts a new browser."""
        self._loop.run(self._engines.break_off())

    def close(self) -> None:
        """Close the browsers and their loop."""
        self._places.caches.clear()
        self._loop.run(self._engines.close())
        self._loop.close()
        self._records.close()

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
                snapshot = page_visit.snapshot
                fetched = page_outcome.fetched_urls(page_visit)
                unsearched = page_outcome.unsearched_frames(page_visit)
                found = page_outcome.found_links(order.url, snapshot, fetched, unsearched)
            if page_visit.snapshot.is_page and trouble is None:
                with times.measure("flaws"):
                    page_visit = replace(page_visit, flaws=_flaws(page_visit, profile))
                kept = self._records.write(control, session, page_visit, found.links, ending)
        except BaseException:
            _abandon(control, session)
            raise
        trouble = trouble or _crash_of(page_visit.snapshot)
        if trouble is not None:
            # Another visit follows, so that the captures of this one need not be waited for.
            _abandon(control, session)
            raise trouble
        with times.measure("session-end"):
            wait_seconds = max(ending.left(math.inf), _LEAST_CLOSE_SECONDS)
            report = control.finish(session, wait_seconds=wait_seconds, keep_port_seconds=place.keep_port_seconds)
        duration_ms = round((time.monotonic() - began) * 1000)
        visit = page_outcome.visit_of(page_visit, found, report, duration_ms, has_look=settings.soft_404_check)
        if (
            place.key is not None
            and is_archived(place.key, page_visit.exchanges, kept, report)
            and not is_given_back(page_visit.snapshot, page_visit.flaws, settings.retry_for)
        ):
            self._places.keep(place)
        self._places.give_up(place)
        return visit

    async def _visit_page(
        self, order: VisitOrder, profile: BrowserProfile | None, place: VisitPlace, page_id: str, times: StageTimes
    ) -> tuple[PageVisit, FleetUnavailable | None]:
        """Return what a browser saw of the page, and what was missing on our side, if anything was."""
        moment = now_micros()
        seen = _Seen(PageSnapshot(crashed=True, times=times))
        async with self._engines.lend(times) as engine:
            with suppress(EngineError):
                await self._see(seen, engine, order, profile, place)
            browser = f"{engine.name}/{engine.version}"
        page_visit = PageVisit(
            order,
            page_id,
            moment,
            seen.snapshot,
            dict(seen.traffic.asked),
            seen.traffic.requests,
            browser,
            self._device.width,
            self._device.height,
            self._device.scale,
            tuple(seen.traffic.exchanges),
            random_seed=seen.random_seed,
            unrecorded=(*self._unrecorded(profile), *_unrecorded_of_responses(profile)),
            is_logged_out=seen.is_logged_out,
        )
        return page_visit, seen.traffic.trouble

    async def _see(
        self, seen: _Seen, engine: Engine, order: VisitOrder, profile: BrowserProfile | None, place: VisitPlace
    ) -> None:
        """Visit the page in a window of the engine, and note in `seen` what is there. Raises EngineError.

        The window is left in its context when the context may be kept, and it is closed otherwise.
        """
        settings, times, host = self._settings.browsers, seen.snapshot.times, order.host
        hosted = self._scripts.for_page(order.url)
        keeps = settings.storage == "site-data"
        options = window_options(
            settings,
            self._own,
            place.session.address,
            profile,
            answers_401=self._answers_401,
            site_data=self._site_data.left_by(host) if keeps else None,
            hosted=hosted,
            context=await place.context_for(engine),
        )
        options = replace(options, init_scripts=(random_script(seen.random_seed), *options.init_scripts))
        with times.measure("window"):
            window = await engine.open(options)
        seen.traffic = window.traffic
        try:
            snapshot = seen.snapshot = await visit_page(window, order.url, settings, hosted, times)
            snapshot.fell_with_another = snapshot.crashed and window.fell_with_another
            snapshot.out_of_memory = snapshot.crashed and not snapshot.fell_with_another and window.ended_for_memory()
            if snapshot.is_page and snapshot.dom is not None:
                seen.is_logged_out = await self._renewal.is_logged_out(window, snapshot.final_url, profile)
            if keeps and snapshot.is_page:
                kept = await state_of(window, BrowserProfile("site-data", order.url, now_micros()))
                if self._logins.for_url(order.url) is profile:  # the login was not renewed meanwhile
                    self._site_data.keep(host, kept)
        finally:
            with times.measure("window-close"):
                if place.key is not None and is_finished(seen.snapshot) and seen.traffic.trouble is None:
                    place.context = await window.leave()
                else:
                    await window.close()

    def _site_key(self, order: VisitOrder, profile: BrowserProfile | None) -> SiteKey | None:
        """Return the key of the contexts that the visit may use; None when contexts are not kept.

        With a login by HTTP they are not, since requests are intercepted then.
        """
        settings = self._settings.browsers
        options = window_options(settings, self._own, "", profile, answers_401=self._answers_401)
        if settings.cache != "site" or options.http_login is not None:
            return None
        return SiteKey.of(order, options, profile)

    def _session_request(self, order: VisitOrder, page_id: str, profile: BrowserProfile | None) -> SessionRequest:
        """Return the request for the session of a visit, in which the secrets of its login are not recorded."""
        return SessionRequest.for_page(order, page_id, self._unrecorded(profile), _unrecorded_of_responses(profile))

    def _unrecorded(self, profile: BrowserProfile | None) -> tuple[str, ...]:
        """Return the names of the request headers whose values are not recorded."""
        return (*self._own.unrecorded, *(UNRECORDED if profile is not None else ()))

    def _renews(self, control: Control, url: str, used: BrowserProfile | None) -> bool:
        """Log in again through a session that archives nothing. Return whether there is a new login."""

        def log_in_again(profile: BrowserProfile) -> BrowserProfile:
            session = control.open(SessionRequest("logins", mode="live", listen=True))
            try:
                fresh = replace(profile, cookies=(), storage={})
                return self.in_window(session.address, lambda window: logged_in(window, profile), fresh)
            finally:
                _abandon(control, session)

        return self._renewal.renew_login(url, used, log_in_again)

    def _forget_site_data(self) -> None:
        """Forget what visits with the former login have left."""
        self._site_data.forget()
        self._places.caches.clear()


@dataclass(slots=True)
class _Seen:
    """The observations of a ghost at a page, kept also when the browser ends during the visit."""

    snapshot: PageSnapshot
    traffic: Traffic = field(default_factory=Traffic)
    is_logged_out: bool = False
    random_seed: int = field(default_factory=new_seed)


def _abandon(control: Control, session: ProxySession) -> None:
    with suppress(FleetUnavailable):  # a proxy that has ended has no sessions
        control.finish(session, wait_seconds=1)


def _crash_of(snapshot: PageSnapshot) -> FleetUnavailable | None:
    """Return why a page that crashed is visited again; None for any other page."""
    if snapshot.fell_with_another:
        return FleetUnavailable("browser-lost")
    if not snapshot.crashed:
        return None
    word = "out-of-memory" if snapshot.out_of_memory else "browser-crashed"
    return FleetUnavailable(word, may_be_the_page=True, trouble=page_outcome.troubles(snapshot)[0])


def _flaws(page_visit: PageVisit, profile: BrowserProfile | None) -> tuple[PageFlaw, ...]:
    found = (*flaws_of(evidence_of(page_visit)), *budget_flaws(page_visit.snapshot.behaviors.outcomes))
    if page_visit.is_logged_out and profile is not None:
        return (*found, PageFlaw(PageFlawType.LOGGED_OUT, profile.name))
    return found


def _unrecorded_of_responses(profile: BrowserProfile | None) -> tuple[str, ...]:
    """Return the names of the response headers whose values are not recorded."""
    return UNRECORDED_OF_RESPONSES if profile is not None else ()
