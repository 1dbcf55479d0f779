"""The section `[browsers]` controls the visits of browsers and of plain crawlers."""

from __future__ import annotations

from typing import Final, Literal, get_args

from pydantic import Field

from archive.settings.values.base import Listed, Section

type RetryReason = Literal[
    "hang",
    "timeout",
    "never-settled",
    "out-of-memory",
    "crash",
    "waf",
    "captcha",
    "rate-limit",
    "soft-404",
    "login-wall",
    "consent-wall",
    "blank",
]
type PageRecordKind = Literal[
    "view",
    "view-after-consent",
    "thumbnail",
    "full-page",
    "full-page-final",
    "text",
    "text-final",
    "dom",
    "links",
    "har",
    "pdf",
    "image-map",
    "volatile",
]
DEFAULT_PAGE_RECORDS: Final[tuple[PageRecordKind, ...]] = (
    *("view", "view-after-consent", "thumbnail", "full-page", "full-page-final"),
    *("text", "text-final", "dom", "links", "volatile"),
)
type ServiceWorkers = Literal["on", "off", "refetched"]
type BrowserStorage = Literal["nothing", "site-data"]
type BrowserCache = Literal["cold", "site"]
SECOND_DEVICE_PATTERN: Final = r"^(?:[1-9][0-9]{2,3}x[1-9][0-9]{2,3}(?:@[1-5](?:\.[0-9]{1,3})?)?)?$"
"""Width and height in CSS pixels, and the number of device pixels for each; empty for no device."""
type BehaviorName = Literal["consent", "move", "autofetch", "scroll", "play", "hover", "click", "form", "gesture"]
BEHAVIOR_NAMES: Final[tuple[BehaviorName, ...]] = get_args(BehaviorName.__value__)
"""Names of the behaviours in the order in which they run."""


class BrowserSettings(Section):
    """These settings control the visits of browsers and of plain crawlers."""

    engine: Literal["chromium", "firefox", "playwright:chromium"] = Field(
        "chromium",
        description="Browser of the ghosts: chromium (or Chrome), firefox, from release 153 on, or playwright:chromium,"
        " which is Chromium driven by Playwright.",
    )
    executable: str = Field("", description="Chromium or Chrome to use. By default an installed one is found.")
    firefox_executable: str = Field("", description="Firefox to use. By default an installed one is found.")
    workers: int = Field(2, ge=1, le=256, description="Visits at a time.")
    render_workers: int = Field(
        2, ge=1, le=256, description="Visits at a time in the queue of renders (`rendering: asynchronous`)."
    )
    page_seconds: float = Field(90, gt=0, description="Longest visit of one page.")
    load_seconds: float = Field(45, gt=0, description="Longest wait for a page's load event.")
    settle_seconds: float = Field(
        0.5, ge=0, description="A page counts as settled when it has requested nothing for this time."
    )
    settle_max_seconds: float = Field(15, gt=0, description="Longest wait until a page has settled.")
    patience_seconds: float = Field(
        5,
        ge=0,
        description="Longest wait for timers that a page has set, after it has settled. Timers of more than five"
        " seconds, and code that runs again and again, are not waited for.",
    )
    behaviors: Listed[BehaviorName] = Field(
        BEHAVIOR_NAMES,
        description=f"What a browser does on each page, comma separated: {', '.join(BEHAVIOR_NAMES)}. Nothing when"
        " empty.",
    )
    behavior_scripts: Listed[str] = Field(
        (),
        description="Files with further behaviours, comma separated: NAME.js has a class after Browsertrix's contract,"
        " NAME.json a flow recorded in Chrome's DevTools, NAME.yaml brozzler's behaviors.yaml. Each is used on the"
        " pages for which it is written.",
    )
    browsertrix_behaviors: str = Field(
        "", description="Path of dist/behaviors.js of browsertrix-behaviors, which then runs on each page."
    )
    behavior_seconds: float = Field(40, ge=0, description="Longest time for all behaviours on one page.")
    scroll_seconds: float = Field(20, ge=0, description="Longest time for scrolling one page.")
    popup_seconds: float = Field(
        5, ge=0, description="Longest time in which a window that a page opened may load, before it is closed."
    )
    width: int = Field(1280, ge=100, description="Width of the window in CSS pixels.")
    height: int = Field(1024, ge=100, description="Height of the window in CSS pixels.")
    lang: str = Field("en", description="Accept-Language of browsers.")
    sandbox: bool = Field(
        True, description="Use the browser's sandbox. Chromium has none when it runs as root; a warning says so."
    )
    close_seconds: float = Field(30, gt=0, description="Longest wait until a page's last captures are durable.")
    full_page_height: int = Field(
        10_000, ge=100, description="Height in CSS pixels at which full-page screenshots are cut off."
    )
    user_agent: str = Field(
        "", description="User-Agent of browsers. By default it is the browser's own, without 'Headless'."
    )
    webdriver: bool = Field(False, description="Whether pages see that a program controls the browser.")
    dialogs: Literal["accept", "dismiss"] = Field(
        "accept", description="Answer to alerts, confirmations and prompts of pages: accept or dismiss."
    )
    scale: float = Field(1.0, gt=0, le=5, description="Device pixels for each CSS pixel.")
    touch: bool = Field(False, description="Whether pages see a touch screen.")
    mobile: bool = Field(False, description="Whether pages are laid out as in the browser of a telephone.")
    timezone: str = Field(
        "", description="Time zone of pages, such as Europe/Copenhagen. By default it is that of the machine."
    )
    dark: bool = Field(False, description="Whether pages see that the reader prefers dark colours.")
    second_device: str = Field(
        "",
        pattern=SECOND_DEVICE_PATTERN,
        description="Each page takes the size of this device for a while after the behaviours, such as 390x844@3"
        " (width, height, device pixels for each CSS pixel), so that it fetches what it shows there. Nothing when"
        " empty.",
    )
    service_workers: ServiceWorkers = Field(
        "on",
        description="Service workers of pages: on, off (pages see a browser without them), or refetched (they run, and"
        " the requests of pages pass by them).",
    )
    storage: BrowserStorage = Field(
        "nothing",
        description="What a visit finds of earlier visits of this worker to the same host: nothing, or site-data"
        " (cookies and local storage). browsers.cache rules the cache.",
    )
    cache: BrowserCache = Field(
        "cold",
        description="What the browser's cache has at the beginning of a visit: nothing (cold), or answers of earlier"
        " visits of this worker to the same host (site). Pages themselves are always fetched. Firefox can't do this.",
    )
    contexts_per_browser: int = Field(50, ge=1, description="Visits after which a browser is replaced by a new one.")
    max_page_bytes: int = Field(
        16_777_216, ge=1024, description="Size in bytes of the largest document that is searched for links."
    )
    embed_seconds: float = Field(
        20,
        gt=0,
        description="Longest wait of a plain crawler for the first byte of a page's image, style sheet or script, and"
        " for the end of one that does not announce its length.",
    )
    page_memory_bytes: int = Field(
        1_500_000_000, ge=0, description="Memory of a page's process at which the visit is ended. 0 sets no limit."
    )
    retry_pages: int = Field(
        1, ge=0, description="Tries after the first one, for pages with a trouble or flaw of retry_for."
    )
    retry_for: Listed[RetryReason] = Field(
        ("hang", "out-of-memory", "crash", "waf"),
        description="Troubles and flaws after which a browser visits a page again, comma separated: hang, timeout,"
        " never-settled, out-of-memory, crash; waf, captcha, rate-limit, soft-404, login-wall, consent-wall, blank.",
    )

    soft_404_check: bool = Field(
        False,
        description="Compare pages with what their site answers to a URL that does not exist, to find error pages with"
        " status 200. Each host, and each folder below its root, gets one more request in a job.",
    )
    page_records: Listed[PageRecordKind] = Field(
        DEFAULT_PAGE_RECORDS,
        description="Records that a browser leaves of a page beside urn:pageinfo:, comma separated: view,"
        " view-after-consent, thumbnail, full-page, full-page-final, text, text-final, dom, links, har, pdf, image-map,"
        " volatile. An image map needs full-page or full-page-final.",
    )
    record_names: Listed[Literal["brozzler", "ukwa"]] = Field(
        (),
        description="Further URIs under which the records of a page are written, comma separated: brozzler"
        " (screenshot:, thumbnail:), ukwa (onreadydom:, screenshot:, thumbnail:, imagemap:, har:, pdf:).",
    )
