"""A harvest job consists of seeds, a profile and limits. The classes are frozen, validated data without I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SkipValidation,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from archive.dates import Micros, now_micros
from archive.fast_frozen import fast_frozen
from archive.names.name_rules import NAME_PATTERN
from archive.settings.browsers import SECOND_DEVICE_PATTERN, BehaviorName, BrowserCache, BrowserStorage, ServiceWorkers
from archive.url import UrlError, canonical
from frontier.definition.groups import MAX_GROUPS, check_group_line
from frontier.definition.quotas import MAX_QUOTAS, check_quota_line
from frontier.definition.rules.chain import MAX_RULES, parse_rule
from frontier.definition.rules.pattern_index import is_plainly_valid
from frontier.definition.rules.rewrites import MAX_REWRITES, parse_rewrite
from frontier.definition.sheets import (
    LONGEST_INTERVAL,
    MAX_SHEETS,
    PageRules,
    RenderingMode,
    RevisitMode,
    Sheets,
    VisitorKind,
    parse_sheet,
    present_visitor,
)

type ScopeKind = Literal["page", "prefix", "host", "domain", "any"]
"""The scope holds the seed pages alone, all URLs below their folders, their hosts, their domains, or any URL."""

_HEADER_NAME: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}"
_HEADER_VALUE: Final = r"[\t -~]{0,8000}"
_CONNECTION_HEADER: Final = "the client sets this header for each connection; leave it out"
_REFUSED_HEADERS: Final = {
    "user-agent": "set user_agent, or --user-agent, instead",
    "warcprox-meta": "this header gives commands to the recording proxy; leave it out",
    "accept-encoding": "the visitors name the content codings that they can decode; leave it out",
    **dict.fromkeys(("host", "connection", "keep-alive", "te", "trailer", "upgrade", "expect"), _CONNECTION_HEADER),
    **dict.fromkeys(("content-length", "transfer-encoding", "http2-settings"), _CONNECTION_HEADER),
}
"""Lower-case names of the headers that a profile can't have, with the reason and the remedy."""
_SECRET: Final = frozenset({"authorization", "cookie"})
"""Lower-case names of the headers whose values are never recorded when a profile has them."""
_LONGEST_PATTERN: Final = 4_000
_REMEDIES: Final = {
    "tuple_type": "; write a list, which may be empty: []",
    "mapping_type": "; write a table of names and values, which may be empty: {}",
    "string_type": "; write it in quotes",
    "finite_number": "; leave the key out for no limit",
    "model_type": "; write a table of keys and values, which may be empty: {}",
}
"""The remedies for pydantic's errors, by the error's type."""
_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:(//|[^0-9])")


class JobError(ValueError):
    """A seed, profile or job can't be used. The message names the field, its value and the remedy in one line."""


def _compiles(pattern: str) -> str:
    if is_plainly_valid(pattern):
        return pattern
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{_shown(pattern)} is not a regular expression: {error}; correct it") from error
    return pattern


def _is_header_name(name: str) -> str:
    if not re.fullmatch(_HEADER_NAME, name):
        raise ValueError(f"{_shown(name)} is not a header name; write for example X-Api-Key")
    return name


Pattern = Annotated[str, Field(max_length=_LONGEST_PATTERN), AfterValidator(_compiles)]
HeaderName = Annotated[str, AfterValidator(_is_header_name)]
ProfileName = Annotated[str, Field(pattern=NAME_PATTERN)]
MAX_LOGINS: Final = 10_000
LeastDelay = Annotated[float, Field(ge=0, le=3_600)]
MAX_LEAST_DELAYS: Final = 200_000
"""A job of a harvest has the rates of at most 100,000 domains (`generation.job_configurations`), and the delays of its
template.
"""
BEHAVIOR_FOLDER: Final = "behaviors"
"""Folder of a home with the files that `behavior_scripts` of profiles name."""
_BEHAVIOR_FILE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}\.(?:js|json|ya?ml)", re.ASCII)


def _is_behavior_file(name: str) -> str:
    if not _BEHAVIOR_FILE.fullmatch(name):
        raise ValueError(
            f"{_shown(name)} is no file of the home's folder `{BEHAVIOR_FOLDER}`; write a name such as shop-tour.json"
        )
    return name


def _is_sheet(line: str) -> str:
    parse_sheet(line)
    return line


def _is_rule(line: str) -> str:
    parse_rule(line)
    return line


def _is_rewrite(line: str) -> str:
    parse_rewrite(line)
    return line


SheetLine = Annotated[str, AfterValidator(_is_sheet)]
GroupLine = Annotated[str, AfterValidator(check_group_line)]
QuotaLine = Annotated[str, AfterValidator(check_quota_line)]
RewriteLine = Annotated[str, AfterValidator(_is_rewrite)]
RuleText = Annotated[str, AfterValidator(_is_rule)]
BehaviorFile = Annotated[str, AfterValidator(_is_behavior_file)]


OnOff = Literal["on", "off"]
type CookiePolicy = Literal["chain", "job", "off"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Limits(_Frozen):
    """Limits end a job before its frontier is empty. None is no limit. A limit of a running job can be raised."""

    pages: int | None = Field(
        None,
        ge=1,
        title="Most pages of the job",
        description="the job ends after this many documents; what they embed is still fetched",
    )
    urls: int | None = Field(
        None,
        ge=1,
        title="Most URLs of the job",
        description="the job ends after this many fetched URLs, with those that pages embed",
    )
    bytes: int | None = Field(
        None,
        ge=1,
        title="Most bytes of the job",
        description="the job ends after this many fetched bytes; visits that have begun are finished",
    )
    seconds: float | None = Field(
        None,
        gt=0,
        title="Longest time of the job",
        description="the job ends after this working time; a pause, or a gap of over a minute, does not count",
    )
    host_pages: int | None = Field(
        None, ge=1, title="Most pages of each host", description="a host is set aside after this many of its documents"
    )


class PolitenessOverrides(_Frozen):
    """A job overrides the settings of politeness with these values. None keeps the setting of the same name."""

    delay_factor: float | None = Field(
        None, ge=0, title="Delay factor", description="the pause after a fetch is its duration times this factor"
    )
    min_delay_seconds: float | None = Field(
        None, ge=0, title="Shortest delay between visits", description="shortest pause between two visits to one host"
    )
    max_delay_seconds: float | None = Field(
        None, ge=0, title="Longest delay between visits", description="longest pause that delay_factor may give"
    )
    max_crawl_delay_seconds: float | None = Field(
        None,
        ge=0,
        title="Longest Crawl-delay of robots.txt",
        description="longest pause that the Crawl-Delay of a robots.txt may give",
    )
    host_bytes_per_second: int | None = Field(
        None,
        ge=0,
        title="Bandwidth of each host",
        description="number of bytes that are fetched of one host in a second, on average: after a larger fetch, the"
        " pause is longer, even longer than max_delay_seconds; 0 is no bound",
    )
    per_host: int | None = Field(
        None,
        ge=1,
        le=64,
        title="Visits to one host at a time",
        description="number of visits to one host at the same time",
    )
    host_failures: int | None = Field(
        None,
        ge=1,
        title="Failures until a host is set aside",
        description="a host is set aside after this many failures in a row",
    )
    max_retries: int | None = Field(
        None, ge=0, title="Most retries of a URL", description="number of retries of a URL after a temporary failure"
    )
    retry_seconds: float | None = Field(
        None,
        ge=0,
        title="Delay before the first retry",
        description="pause before the first retry; it doubles with each further retry",
    )
    max_retry_seconds: float | None = Field(
        None, ge=0, title="Longest delay before a retry", description="longest pause before a retry"
    )
    skip_down: int | None = Field(
        None,
        ge=2,
        le=1_000,
        title="Share of lower priorities",
        description="each time that so many URLs of a host were taken, the last of them is of a lower priority",
    )
    session_budget: int | None = Field(
        None,
        ge=1,
        le=100_000,
        title="Session budget of a host",
        description="number of visits for which a host stays in front of the hosts that wait, each when its delay is"
        " over; then it goes behind these hosts",
    )


class SeenRules(_Frozen):
    """The rules say which URLs are taken for the same one, and how the job knows the URLs that it has seen.

    The URL that is fetched and archived stays as it is.
    """

    session_ids: OnOff = Field(
        "on",
        title="Leave out session ids",
        description="URLs that differ in the session ids of Java, PHP, ASP and ColdFusion alone are the same",
    )
    lowercase: OnOff = Field(
        "off", title="Ignore case", description="URLs that differ in upper and lower case alone are the same"
    )
    www: OnOff = Field(
        "off", title="Leave out www", description="a leading www. or www2. of the host's name makes no difference"
    )
    scheme: OnOff = Field("off", title="Ignore http and https", description="http and https make no difference")
    extra_slashes: OnOff = Field(
        "off", title="Leave out extra slashes", description="several slashes in a row, and one at the end, count as one"
    )
    fix_query: OnOff = Field(
        "off", title="Mend the query", description="an empty query, and empty parts of a query, make no difference"
    )
    rewrites: tuple[RewriteLine, ...] = Field(
        (),
        max_length=MAX_REWRITES,
        title="Replace parts of URLs",
        description="lines that replace parts of URLs which make no difference: each has a regular expression, an arrow"
        " between two spaces, and a replacement, which may be empty",
    )
    method: Literal["exact", "bloom"] = Field(
        "exact",
        title="Seen test",
        description="exact keeps eight bytes of each URL; bloom keeps one or two, and takes some new URLs for seen"
        " ones, which are then not visited; seeds are always visited",
    )
    expected_urls: int = Field(
        10_000_000,
        ge=1_000,
        le=2_000_000_000,
        title="Expected URLs",
        description="number of URLs for which a seen test by a Bloom filter is made; with more URLs, more are dropped",
    )
    false_positives: float = Field(
        0.001,
        ge=1e-9,
        le=0.1,
        title="False positives",
        description="share of new URLs that the Bloom filter takes for seen ones when it has the expected URLs",
    )


class DeviceOverrides(_Frozen):
    """A job's browsers look like this device to pages. None keeps the setting `browsers.` of that subject."""

    width: int | None = Field(
        None, ge=100, le=10_000, title="Width of the window", description="width of the window in CSS pixels"
    )
    height: int | None = Field(
        None, ge=100, le=10_000, title="Height of the window", description="height of the window in CSS pixels"
    )
    scale: float | None = Field(None, gt=0, le=5, title="Pixel density", description="device pixels for each CSS pixel")
    pointer: Literal["mouse", "touch"] | None = Field(
        None, title="Pointer", description="whether pages see a mouse or a touch screen"
    )
    layout: Literal["desktop", "mobile"] | None = Field(
        None,
        title="Page layout",
        description="whether pages are laid out as in the browser of a computer or of a telephone",
    )
    colors: Literal["light", "dark"] | None = Field(
        None, title="Colour scheme", description="the colours that pages see as preferred"
    )
    lang: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9*][A-Za-z0-9*,;=. -]{0,99}$",
        title="Language",
        description="Accept-Language, such as de-AT,de;q=0.9",
    )
    timezone: str | None = Field(
        None,
        pattern=r"^[A-Za-z][A-Za-z0-9_+/-]{0,59}$",
        title="Time zone",
        description="time zone, such as Europe/Copenhagen",
    )

    @property
    def browser_settings(self) -> Mapping[str, object]:
        """Return the values of the settings `browsers.` that the device changes."""
        values: dict[str, object] = {
            "width": self.width,
            "height": self.height,
            "scale": self.scale,
            "touch": self.pointer and self.pointer == "touch",
            "mobile": self.layout and self.layout == "mobile",
            "dark": self.colors and self.colors == "dark",
            "lang": self.lang,
            "timezone": self.timezone,
        }
        return {name: value for name, value in values.items() if value is not None}


class RevisitRules(_Frozen):
    """A continuous crawl visits its URLs again by these rules. Such a job does not end by itself."""

    mode: RevisitMode = Field(
        "off",
        title="Visit URLs again",
        description="whether the job visits each URL again: never (off), after the same time (fixed), or sooner when it"
        " changes and later when it does not (adaptive); such a job goes on until it is stopped or reaches a limit",
    )
    interval_seconds: float = Field(
        86_400,
        ge=1,
        le=LONGEST_INTERVAL,
        title="Time until the next visit",
        description="time from a visit to the next one; with adaptive, after the first visit",
    )
    min_seconds: float = Field(
        3_600,
        ge=1,
        le=LONGEST_INTERVAL,
        title="Shortest time until the next visit",
        description="shortest time that adaptive may choose",
    )
    max_seconds: float = Field(
        90 * 86_400,
        ge=1,
        le=LONGEST_INTERVAL,
        title="Longest time until the next visit",
        description="longest time that adaptive may choose",
    )
    changed_factor: float = Field(
        0.2,
        ge=0,
        le=0.5,
        title="Shorter after a change",
        description="share by which adaptive shortens the time when a URL has changed",
    )
    unchanged_factor: float = Field(
        0.4,
        ge=0,
        le=0.5,
        title="Longer without a change",
        description="share by which adaptive lengthens the time when a URL has not changed",
    )

    @model_validator(mode="after")
    def _has_room(self) -> Self:
        if self.min_seconds > self.max_seconds:
            raise ValueError(
                f"min_seconds = {self.min_seconds:g} is more than max_seconds = {self.max_seconds:g}; exchange them"
            )
        return self

    @property
    def is_on(self) -> bool:
        """Return whether URLs are visited again."""
        return self.mode != "off"


class Profile(_Frozen):
    """A profile says how a job harvests. It is one file, which can be compared and used again."""

    visitor: VisitorKind = Field(
        "plain",
        title="Crawler or browser",
        description="plain runs no JavaScript, browser opens each page in a browser, mixed does both",
    )
    rendered_fraction: float = Field(
        0.1,
        ge=0,
        le=1,
        title="Share of pages opened in a browser",
        description="share of pages that the visitor `mixed` opens in a browser",
    )
    engine: Literal["chromium", "firefox", "playwright:chromium"] | None = Field(
        None,
        title="Browser",
        description="browser of the visitors `browser` and `mixed`; none follows the setting browsers.engine",
    )
    rendering: RenderingMode = Field(
        "synchronous",
        title="Time of rendering",
        description="whether a browser opens a page at its turn in the crawl (synchronous), or later, by a queue of its"
        " own, after the plain crawler has fetched the page (asynchronous)",
    )
    sheets: tuple[SheetLine, ...] = Field(
        (),
        max_length=MAX_SHEETS,
        title="Settings of single sites (sheets)",
        description="other values of some keys for some sites: a SURT prefix, a host, a URL or `regex:` with an"
        " expression, and then KEY=VALUE, such as `org,example)/shop visitor=browser min_delay_seconds=10`; the longest"
        " prefix counts, and an expression before all prefixes",
    )
    scope: ScopeKind = Field(
        "host",
        title="Scope",
        description="the crawl takes in the seed pages, their folders (prefix), hosts or domains, or any URL",
    )
    hops: int | None = Field(
        None,
        ge=0,
        title="Depth: links from a seed",
        description="number of links from a seed to the farthest page; none is no limit",
    )
    include: tuple[Pattern, ...] = Field(
        (),
        title="Include URLs that match",
        description="regular expressions; a URL is in scope when one of them matches a part of it",
    )
    exclude: tuple[Pattern, ...] = Field(
        (),
        title="Exclude URLs that match",
        description="regular expressions; a URL is rejected when one of them matches a part of it",
    )
    rules: tuple[RuleText, ...] = Field(
        (),
        max_length=MAX_RULES,
        title="Decide rules",
        description="rules that take URLs in or out after all other keys, the last one that decides counts: ACCEPT or"
        " REJECT, a name as in Heritrix, and arguments, such as `REJECT MatchesRegex .*/print/.*`",
    )
    embed_hops: int = Field(
        2,
        ge=0,
        title="Embedded URLs out of scope",
        description="number of embedded URLs in a row that may lie out of scope",
    )
    speculative_hops: int = Field(
        1,
        ge=0,
        title="Guessed links out of scope",
        description="number of guessed links in a row that may lie out of scope",
    )
    guessed_links: Literal["on", "off"] = Field(
        "on",
        title="Guessed links",
        description="whether the plain crawler takes texts of scripts, JSON and XML that look like URLs as links",
    )
    cookies: CookiePolicy = Field(
        "chain",
        title="Cookies of the plain crawler",
        description="how long the plain crawler keeps the cookies that sites set: along one chain of redirects (chain),"
        " for all visits of the job to the site (job), or not at all (off); browser_storage decides for browsers",
    )
    redirect_hops: int = Field(
        5, ge=0, title="Redirects out of scope", description="number of redirects in a row that may lie out of scope"
    )
    max_url_length: int = Field(4096, ge=16, title="Longest URL", description="a URL with more characters is rejected")
    max_path_segments: int = Field(
        20, ge=1, title="Most path segments", description="a URL with more path segments is rejected"
    )
    max_path_repeats: int = Field(
        2,
        ge=1,
        title="Most repeats of a path segment",
        description="a URL is rejected when the same path segments are repeated more often, as in /a/b/a/b/a/b",
    )
    max_links: int = Field(
        6000,
        ge=1,
        title="Most links of one page",
        description="number of links that are taken from one page; further links are rejected",
    )
    limits: Limits = Limits()
    quotas: tuple[QuotaLine, ...] = Field(
        (),
        max_length=MAX_QUOTAS,
        title="Quotas",
        description="bounds of the job, or of each host, domain or seed: one of these words, and then urls, bytes,"
        " new_bytes, seconds or errors, such as `host bytes=2000000000 errors=50`; queues at their quota are set aside",
    )
    seen: SeenRules = SeenRules()
    politeness: PolitenessOverrides = PolitenessOverrides()
    least_delays: Mapping[str, LeastDelay] = Field(
        {},
        max_length=MAX_LEAST_DELAYS,
        title="Least delays of domains",
        description="shortest pause between two visits to one host, for the hosts of each of these domains; no maximum"
        " of politeness cuts this pause; harvests set it for the rates of their domains",
    )
    groups: tuple[GroupLine, ...] = Field(
        (),
        max_length=MAX_GROUPS,
        title="Queue groups",
        description="hosts whose visits are bounded together: a name, members, and then parallel=VISITS and"
        " delay=SECONDS, such as `shop *.example.org,192.0.2.0/24,list:shops.txt parallel=1 delay=5`; a host belongs to"
        " the first group that matches",
    )
    revisit: RevisitRules = RevisitRules()
    robots: Literal["obey", "ignore"] | None = Field(
        None,
        title="robots.txt",
        description="whether robots.txt is obeyed; none follows the setting frontier.robots",
    )
    behaviors: tuple[BehaviorName, ...] | None = Field(
        None,
        title="Behaviours",
        description="behaviours of browsers on each page; none follows the setting browsers.behaviors",
    )
    behavior_seconds: float | None = Field(
        None,
        ge=0,
        title="Longest time of behaviours",
        description="longest time for all behaviours on a page; none follows browsers.behavior_seconds",
    )
    behavior_scripts: tuple[BehaviorFile, ...] | None = Field(
        None,
        title="Further behaviour files",
        description="files with further behaviours, in the folder `behaviors` of the home; none follows the setting"
        " browsers.behavior_scripts",
    )
    device: DeviceOverrides = DeviceOverrides()
    second_device: str | None = Field(
        None,
        pattern=SECOND_DEVICE_PATTERN,
        title="Second device",
        description="device whose size each page gets after the behaviours, such as 390x844@3; empty for none; none"
        " follows browsers.second_device",
    )
    service_workers: ServiceWorkers | None = Field(
        None,
        title="Service workers",
        description="whether pages have service workers; none follows browsers.service_workers",
    )
    browser_storage: BrowserStorage | None = Field(
        None,
        title="Cookies and local storage",
        description="whether a visit finds cookies and local storage of earlier visits to its host; none follows"
        " browsers.storage",
    )
    browser_cache: BrowserCache | None = Field(
        None,
        title="Cache of the browser",
        description="whether a visit finds the browser's cache of earlier visits to its host (site) or an empty one;"
        " none follows browsers.cache; Firefox can only have `cold`",
    )
    soft_404_check: Literal["on", "off"] | None = Field(
        None,
        title="Check for soft 404 pages",
        description="whether pages are compared with what their site answers to a URL that does not exist; none follows"
        " browsers.soft_404_check",
    )
    user_agent: str = Field(
        "",
        title="User-Agent",
        description="User-Agent of all requests; when empty, archive.user_agent and browsers.user_agent are sent",
    )
    user_agent_contact: Literal["required", "optional"] = Field(
        "required",
        title="Contact in the User-Agent",
        description="whether user_agent must name a page or a mail address at which webmasters reach the operator",
    )
    browser_profile: str = Field(
        "",
        pattern=rf"^$|{NAME_PATTERN}",
        title="Stored browser profile",
        description="name of a stored browser profile, whose login all visits use; `ghostfleet profile browser create`",
    )
    logins: tuple[ProfileName, ...] = Field(
        (),
        max_length=MAX_LOGINS,
        title="Further logins",
        description="names of further stored browser profiles, each of which is used at its own site alone; a job makes"
        " the logins that have a password before its first visit, and harvests set this for passwords of domains",
    )
    headers: Mapping[str, str] = Field(
        {},
        title="HTTP headers",
        description="names and values of headers that are sent with every request to every site",
    )
    redact_headers: tuple[HeaderName, ...] = Field(
        (),
        title="Headers that are not recorded",
        description="names of headers whose values are not recorded, besides Authorization and Cookie of `headers`",
    )

    @model_validator(mode="before")
    @classmethod
    def _without_former_keys(cls, values: Any) -> Any:
        """Drop an empty `behaviours`: earlier releases stored the key with each job, and it had no effect."""
        if isinstance(values, dict) and values.get("behaviours") in ((), []):
            return {name: value for name, value in values.items() if name != "behaviours"}
        return values

    @field_validator("visitor", mode="before")
    @classmethod
    def _has_present_name(cls, value: Any) -> Any:
        return present_visitor(value)

    @field_validator("browser_cache")
    @classmethod
    def _has_own_cache(cls, value: BrowserCache | None, info: ValidationInfo) -> BrowserCache | None:
        if value == "site" and info.data.get("engine") == "playwright:chromium":
            raise ValueError("Playwright keeps no caches; write cold, or engine: chromium")
        if value == "site" and info.data.get("engine") == "firefox":
            raise ValueError("Firefox has one cache for all pages; write cold, or engine: chromium")
        return value

    @field_validator("user_agent")
    @classmethod
    def _is_one_line(cls, value: str) -> str:
        if not re.fullmatch(_HEADER_VALUE, value):
            raise ValueError("it has a character that is not printable ASCII; write printable ASCII on one line")
        return value

    @field_validator("headers")
    @classmethod
    def _can_be_sent(cls, headers: Mapping[str, str]) -> Mapping[str, str]:
        for _, problem in wrong_headers(headers):
            raise ValueError(problem)
        return headers

    def least_delay(self, host: str) -> float:
        """Return the shortest pause in seconds that the host's domain has of its own; 0 without one."""
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
        return delay_of(self.least_delays, name)

    def page_rules(self) -> Sheets:
        """Return the rules of who visits the pages of each site."""
        return Sheets(PageRules(self.visitor, self.rendered_fraction, self.rendering), self.sheets)

    @property
    def unrecorded_headers(self) -> tuple[str, ...]:
        """Return the lower-case names of the request headers whose values stay out of the WARC files."""
        own = {name.lower() for name in self.headers} & _SECRET
        return tuple(sorted(own | {name.lower() for name in self.redact_headers}))


def delay_of(delays: Mapping[str, float], name: str) -> float:
    """Return the delay of the name of a host, or of the nearest domain above the name; 0 without one."""
    while name and delays:
        if (seconds := delays.get(name)) is not None:
            return seconds
        name = name.partition(".")[2]
    return 0.0


def wrong_headers(headers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the name of each header that can't be sent, and the reason. Values may be secrets and are not shown."""
    known: set[str] = set()
    for name, value in headers.items():
        lower = name.lower()
        if not re.fullmatch(_HEADER_NAME, name):
            yield name, f"{_shown(name)} is not a header name; write for example Accept-Language"
        elif lower in _REFUSED_HEADERS or lower.startswith("proxy-"):
            reason = _REFUSED_HEADERS.get(lower, "this header is for proxies; leave it out")
            yield name, f"{name} can't be set: {reason}"
        elif lower in known:
            yield name, f"{name} is given twice; write it once, with its values joined by a comma"
        elif not re.fullmatch(_HEADER_VALUE, value):
            yield (
                name,
                f"the value of {name} has a character that is not printable ASCII; write printable ASCII on one line",
            )
        known.add(lower)


@fast_frozen(frozen=True, slots=True)
class Seed:
    """A seed is a URL from which the crawl starts, in canonical form."""

    url: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the seed that a person wrote. Raises JobError, which says what to write instead."""
        try:
            return cls(url=canonical(text))
        except UrlError as error:
            raise JobError(f"seed {_shown(text)} can't be used: {_why(text, error)}") from error


class Job(_Frozen):
    """A job is one harvest. Its name is unique in the fleet: a second start with the same name resumes the job.

    `seeds` are those that `Frontier.open_job` queues. They are no part of the job's JSON, so that workers don't have
    them.
    """

    name: str = Field(pattern=NAME_PATTERN)
    collection: str = Field(pattern=NAME_PATTERN)
    seeds: Annotated[Any, SkipValidation] = Field((), exclude=True)
    """A `frontier.definition.seeds.Seeds`."""
    profile: Profile = Profile()
    created: Micros = Field(default_factory=now_micros)

    @field_validator("seeds", mode="before")
    @classmethod
    def _without_stored_seeds(cls, value: Any) -> Any:
        """Leave out the seeds in the JSON of an earlier release."""
        return () if isinstance(value, list) else value

    @classmethod
    def of(cls, name: str, collection: str, seeds: Iterable[str], profile: Profile | None = None) -> Self:
        """Return a new job from seeds as people write them. Raises JobError for the first error, in one line."""
        parsed = tuple(dict.fromkeys(Seed.parse(text) for text in seeds))
        if not parsed:
            raise JobError(f"job {name} has no seeds; name at least one URL such as http://example.org/")
        try:
            return cls(name=name, collection=collection, seeds=parsed, profile=profile or Profile())
        except ValidationError as error:
            raise JobError(f"job {name}: {first_problem(error)}") from error


def read_seeds(lines: Iterable[str]) -> Iterator[tuple[int, Seed | JobError]]:
    """Yield each line number of a text file, from 1, with the seed on the line or its error.

    Empty lines and lines that begin with # are skipped. A byte order mark is not part of the first seed.
    """
    for number, line in enumerate(lines, 1):
        text = line.lstrip("\ufeff").strip()
        if text and not text.startswith("#"):
            try:
                yield number, Seed.parse(text)
            except JobError as error:
                yield number, error


def first_problem(error: ValidationError) -> str:
    """Return the first validation error in one line: the field, its value, the reason and the remedy."""
    return problem_text(error.errors()[0])


def problem_text(found: ErrorDetails) -> str:
    """Return one validation error in one line: the field, its value, the reason and the remedy."""
    name = ".".join(str(part) for part in found["loc"])
    why = found["msg"].removeprefix("Value error, ") + _REMEDIES.get(found["type"], "")
    if name.startswith("headers"):  # the values may be secrets
        return f"{name} can't be used: {why}"
    return f"{name} = {_shown(str(found['input']))} can't be used: {why}"


def _shown(text: str) -> str:
    return repr(text if len(text) <= 200 else text[:200] + "…")


def _why(text: str, error: UrlError) -> str:
    bare = text.strip().lstrip("/")
    if bare and "\0" not in bare and not _SCHEME.match(bare):
        return f"it has no scheme; write http://{bare[:200]}{'' if '/' in bare else '/'}"
    return f"{error}; write a URL such as http://example.org/"
