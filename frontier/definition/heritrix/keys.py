"""The keys of Heritrix 3 that a profile has under another name, or that have a remedy elsewhere, are listed here. Pure.

docs/heritrix.md is made from these tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

type Outcome = Literal["mapped", "partly", "not-mapped", "ignored"]
OUTCOMES: Final[Mapping[Outcome, str]] = {
    "mapped": "the profile has a key of the same meaning",
    "partly": "the profile has a key whose meaning differs in the way that is named",
    "not-mapped": "no key of the profile has this meaning; the remedy is named",
    "ignored": "the key has no meaning here",
}
_PLACEHOLDER: Final = re.compile(r"[$#%]\{|ENTER_AN?_|\[see override above\]")
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,9})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class HeritrixKey:
    """A key of Heritrix has a counterpart, a remedy, or a reason why it has none."""

    bean: str
    """The usual name of the bean."""
    name: str
    """The name of the property."""
    outcome: Outcome
    target: str = ""
    """The key of the profile, dotted."""
    why: str = ""
    default: str = ""
    """Heritrix's own value, which the profile has when the file does not set the key; empty for none."""
    read: Callable[[str], Any] | None = None
    """Returns the value of our key; None when the key is to be left out. Raises ValueError."""


def is_placeholder(text: str) -> bool:
    """Return whether something else fills in this text when a job is made, or a person has to."""
    return _PLACEHOLDER.search(text) is not None


def _value(text: str) -> float:
    bare = text.strip()
    if is_placeholder(bare):
        raise ValueError("the value is a placeholder, which is filled in elsewhere; set the key by hand")
    if not _NUMBER.fullmatch(bare):
        raise ValueError(f"{bare[:100]!r} is no number; set the key by hand")
    return float(bare)


def whole(text: str) -> int:
    """Return a whole number from 0."""
    value = _value(text)
    if value < 0 or value != int(value):
        raise ValueError(f"{text.strip()[:100]!r} is no whole number from 0; set the key by hand")
    return int(value)


def seconds(text: str) -> float:
    """Return a number from 0."""
    value = _value(text)
    if value < 0:
        raise ValueError(f"{text.strip()[:100]!r} is less than 0; set the key by hand")
    return int(value) if value == int(value) else value


def _milliseconds(text: str) -> float:
    value = seconds(text) / 1000
    return int(value) if value == int(value) else value


def _limit(text: str) -> int | None:
    value = _value(text)
    return int(value) if value > 0 else None


def _kilobytes(text: str) -> int | None:
    """Return the bytes of a limit in KB; None for no limit."""
    found = _limit(text)
    return None if found is None else 1024 * found


def _budget(text: str) -> int:
    """Return a number of visits from 1 to the largest budget."""
    return min(max(whole(text), 1), 100_000)


def truth(text: str) -> bool:
    """Return the truth of `true` or `false`. Raises ValueError."""
    bare = text.strip().lower()
    if bare in ("true", "yes", "on", "1"):
        return True
    if bare in ("false", "no", "off", "0"):
        return False
    if is_placeholder(bare):
        raise ValueError("the value is a placeholder, which is filled in elsewhere; set the key by hand")
    raise ValueError(f"{text.strip()[:100]!r} is neither true nor false; set the key by hand")


def _guesses(text: str) -> str | None:
    return None if truth(text) else "off"


def _cookies(text: str) -> str:
    return "off" if truth(text) else "job"


def _robots(text: str) -> str:
    found = {"obey": "obey", "classic": "obey", "ignore": "ignore", "robotstxtonly": "obey"}.get(text.strip().lower())
    if found is None:
        raise ValueError(f"the policy {text.strip()[:100]!r} has no counterpart; robots takes obey and ignore")
    return found


CLASSES: Final[Mapping[str, str]] = {
    "CrawlMetadata": "metadata",
    "TextSeedModule": "seeds",
    "DispositionProcessor": "disposition",
    "BdbFrontier": "frontier",
    "CrawlLimitEnforcer": "crawlLimiter",
    "CrawlController": "crawlController",
    "QuotaEnforcer": "quotaEnforcer",
    "FetchHTTP": "fetchHttp",
    "FetchHTTP2": "fetchHttp",
    "FetchDNS": "fetchDns",
    "ExtractorHTML": "extractorHtml",
    "JerichoExtractorHTML": "extractorHtml",
    "AggressiveExtractorHTML": "extractorHtml",
    "ExtractorJS": "extractorJs",
    "WARCWriterProcessor": "warcWriter",
    "WARCWriterChainProcessor": "warcWriter",
    "ARCWriterProcessor": "warcWriter",
    "FrontierPreparer": "preparer",
    "Preselector": "preselector",
    "PreconditionEnforcer": "preconditions",
    "CandidatesProcessor": "candidates",
    "BdbCookieStore": "cookieStorage",
    "BdbCookieStorage": "cookieStorage",
    "SimpleCookieStore": "cookieStorage",
    "DiskSpaceMonitor": "diskSpaceMonitor",
    "CandidateScoper": "candidateScoper",
}
"""The usual name of a bean, by its class."""

_AGENT: Final = "@VERSION@ and @OPERATOR_CONTACT_URL@ are filled in, and the crawler names itself Ghostfleet"
_WARCINFO: Final = "set this field in archive.warcinfo of ghostfleet.toml"
_WARC: Final = "our recording proxies write the WARC files; see the settings [archive] in docs/reference/settings.md"
_BUDGET: Final = "each visit of a host costs the same, and URLs are ordered by priority and depth"
_PROCESS: Final = "this concerns the memory, files or threads of Heritrix's own process"
_FETCH: Final = "the recording proxies fetch; see the settings [proxy] in docs/reference/settings.md"
_HTTP: Final = "the visitors and proxies choose the protocol and these headers themselves"
_NOVEL_URLS: Final = "new URLs are not counted apart; set quotas with urls or new_bytes"
_OF_HOST: Final = "our queues are by host and port; at its quota a host is set aside"
_LINKS: Final = "the extraction of links has no such choice; reject the links by `rules`"

KEYS: Final[tuple[HeritrixKey, ...]] = (
    HeritrixKey("metadata", "userAgentTemplate", "mapped", "user_agent", _AGENT),
    HeritrixKey("metadata", "operatorContactUrl", "mapped", "user_agent", "the contact stands in the User-Agent"),
    HeritrixKey(
        "metadata", "operatorFrom", "mapped", "headers.From",
        "the header From is sent; without operatorContactUrl the address also stands in user_agent",
    ),
    HeritrixKey(
        "metadata", "robotsPolicyName", "mapped", "robots",
        "robotsTxtOnly becomes obey, and nofollow of pages is never obeyed; other policies are not mapped", "obey",
        _robots,
    ),
    HeritrixKey(
        "metadata", "jobName", "not-mapped", "", "a job gets its name at its start; give it by `--job`"
    ),
    *(
        HeritrixKey("metadata", name, "not-mapped", "", _WARCINFO)
        for name in ("description", "operator", "organization", "audience")
    ),
    HeritrixKey("seeds", "textSource", "not-mapped", "", "a profile has no seeds; give the list by `--seeds-file`"),
    HeritrixKey("seeds", "sourceTagSeeds", "ignored", "", "the log always names the seed of a URL"),
    HeritrixKey("disposition", "delayFactor", "mapped", "politeness.delay_factor", "", "5.0", seconds),
    HeritrixKey("disposition", "minDelayMs", "mapped", "politeness.min_delay_seconds", "", "3000", _milliseconds),
    HeritrixKey("disposition", "maxDelayMs", "mapped", "politeness.max_delay_seconds", "", "30000", _milliseconds),
    HeritrixKey(
        "disposition", "respectCrawlDelayUpToSeconds", "mapped", "politeness.max_crawl_delay_seconds", "", "300",
        seconds,
    ),
    HeritrixKey(
        "disposition", "maxPerHostBandwidthUsageKbSec", "mapped", "politeness.host_bytes_per_second", "0 is no limit",
        "", _kilobytes,
    ),
    HeritrixKey(
        "disposition", "forceRetire", "not-mapped", "", "add a line `REJECT OnHosts HOST` to `rules` instead"
    ),
    HeritrixKey("frontier", "maxRetries", "mapped", "politeness.max_retries", "", "30", whole),
    HeritrixKey(
        "frontier", "retryDelaySeconds", "mapped", "politeness.retry_seconds",
        "max_retry_seconds gets the same value, so that the pause does not grow", "900", seconds,
    ),
    HeritrixKey("frontier", "maxOutlinks", "mapped", "max_links", "", "6000", _limit),
    HeritrixKey(
        "frontier", "queueTotalBudget", "partly", "limits.host_pages",
        "Heritrix counts costs of all URLs of a queue, and our limit counts the documents of a host", "", _limit,
    ),
    HeritrixKey(
        "frontier", "balanceReplenishAmount", "mapped", "politeness.session_budget",
        "each visit costs 1, as with Heritrix's own cost policy; Heritrix's own value is 3000", "", _budget,
    ),
    *(
        HeritrixKey("frontier", name, "ignored", "", _BUDGET)
        for name in ("errorPenaltyAmount", "precedenceFloor", "queuePrecedencePolicy")
    ),
    HeritrixKey(
        "frontier", "snoozeLongMs", "ignored", "", "queues that wait cost nothing, and are kept in Redis in any case"
    ),
    HeritrixKey("frontier", "recoveryLogEnabled", "ignored", "", "Redis keeps the frontier, and jobs continue from it"),
    HeritrixKey("crawlLimiter", "maxBytesDownload", "mapped", "limits.bytes", "0 is no limit", "", _limit),
    HeritrixKey(
        "crawlLimiter", "maxDocumentsDownload", "mapped", "limits.urls",
        "Heritrix counts each fetched URL as a document; 0 is no limit", "", _limit,
    ),
    HeritrixKey("crawlLimiter", "maxTimeSeconds", "mapped", "limits.seconds", "0 is no limit", "", _limit),
    *(
        HeritrixKey("crawlLimiter", name, "mapped", "quotas.job new_bytes", "0 is no limit", "", _limit)
        for name in ("maxNovelBytes", "maxWarcNovelBytes")
    ),
    *(
        HeritrixKey("crawlLimiter", name, "not-mapped", "", _NOVEL_URLS)
        for name in ("maxNovelUrls", "maxWarcNovelUrls")
    ),
    *(
        HeritrixKey("quotaEnforcer", f"{owner}Max{what}", "partly", f"quotas.host {kind}", _OF_HOST, "", read)
        for what, kind, read in (
            ("FetchSuccesses", "urls", _limit),
            ("FetchResponses", "urls", _limit),
            ("SuccessKb", "bytes", _kilobytes),
            ("AllKb", "bytes", _kilobytes),
            ("NovelKb", "new_bytes", _kilobytes),
        )
        for owner in ("host", "server", "group")
    ),
    *(
        HeritrixKey("quotaEnforcer", f"{owner}MaxNovelUrls", "not-mapped", "", _NOVEL_URLS)
        for owner in ("host", "server", "group")
    ),
    HeritrixKey("quotaEnforcer", "forceRetire", "ignored", "", "a host that has reached its limit is set aside"),
    HeritrixKey(
        "crawlController", "maxToeThreads", "not-mapped", "",
        "a profile does not set how much is fetched at once; give `--workers` at the start of the crawl",
    ),
    HeritrixKey("crawlController", "pauseAtStart", "ignored", "", "a job begins when it is started"),
    HeritrixKey("crawlController", "pauseAtFinish", "ignored", "", "a job ends when its frontier is empty"),
    HeritrixKey(
        "crawlController", "runWhileEmpty", "not-mapped", "",
        "a job ends when its frontier is empty; set revisit.mode, or feed URLs to a running job",
    ),
    HeritrixKey(
        "extractorHtml", "extractJavascript", "mapped", "guessed_links", "false becomes off", "", _guesses
    ),
    HeritrixKey(
        "extractorHtml", "extractValueAttributes", "not-mapped", "",
        "guesses of scripts and of attributes have one switch; set guessed_links to off for none",
    ),
    *(
        HeritrixKey("extractorHtml", name, "not-mapped", "", _LINKS)
        for name in ("ignoreFormActionUrls", "extractOnlyFormGets", "treatFramesAsEmbedLinks", "obeyRelNofollow")
    ),
    *(
        HeritrixKey("extractorHtml", name, "ignored", "", "our extractor bounds the length of what it reads itself")
        for name in ("maxElementLength", "maxAttributeNameLength", "maxAttributeValueLength", "maxAttributeValLength")
    ),
    HeritrixKey("extractorHtml", "ignoreUnexpectedHtml", "ignored", "", "the content decides, and not the ending"),
    HeritrixKey("extractorJs", "enabled", "mapped", "guessed_links", "false becomes off", "", _guesses),
    HeritrixKey("fetchHttp", "acceptHeaders", "mapped", "headers", "each line becomes a header"),
    HeritrixKey("fetchHttp", "defaultEncoding", "ignored", "", "the encoding of a page is found by its own content"),
    *(
        HeritrixKey("fetchHttp", name, "not-mapped", "", _FETCH)
        for name in (
            *("maxLengthBytes", "timeoutSeconds", "soTimeoutMs", "maxFetchKBSec", "shouldFetchBodyRule"),
            *("httpProxyHost", "httpProxyPort", "httpProxyUser", "httpProxyPassword", "socksProxyHost"),
            *("socksProxyPort", "sslTrustLevel", "httpBindAddress"),
        )
    ),
    *(
        HeritrixKey("fetchHttp", name, "ignored", "", _HTTP)
        for name in ("useHTTP11", "acceptCompression", "sendConnectionClose", "sendReferer", "sendRange")
    ),
    *(
        HeritrixKey("fetchHttp", name, "not-mapped", "", "set dedup.conditional in ghostfleet.toml")
        for name in ("sendIfModifiedSince", "sendIfNoneMatch")
    ),
    HeritrixKey(
        "fetchHttp", "ignoreCookies", "mapped", "cookies",
        "true becomes off, and false becomes job; browser_storage decides for browsers", "false", _cookies,
    ),
    *(
        HeritrixKey(bean, name, "ignored", "", "records always have digests; archive settings choose the algorithm")
        for bean in ("fetchHttp", "fetchDns")
        for name in ("digestContent", "digestAlgorithm")
    ),
    HeritrixKey("fetchDns", "acceptNonDnsResolves", "ignored", "", "the proxies look up names by the resolver"),
    *(
        HeritrixKey("warcWriter", name, "not-mapped", "", _WARC)
        for name in (
            *("compress", "prefix", "suffix", "maxFileSizeBytes", "poolMaxActive", "poolMaxWaitMs", "directory"),
            *("storePaths", "skipIdenticalDigests", "maxTotalBytesToWrite", "writeRequests", "writeMetadata"),
            *("writeRevisitForIdenticalDigests", "writeRevisitForNotModified", "frequentFlushes", "writeBufferSize"),
            *("template", "chain", "startNewFilesOnCheckpoint", "shouldProcessRule"),
        )
    ),
    HeritrixKey("preparer", "canonicalizationPolicy", "mapped", "seen", "the rules of the policy become keys of seen"),
    HeritrixKey(
        "preparer", "queueAssignmentPolicy", "not-mapped", "", "queues are by host; set groups to bind hosts together"
    ),
    *(
        HeritrixKey("preparer", name, "ignored", "", "the frontier orders URLs by its own three priorities")
        for name in ("preferenceDepthHops", "preferenceEmbedHops", "uriPrecedencePolicy", "costAssignmentPolicy")
    ),
    HeritrixKey("preselector", "recheckScope", "ignored", "", "a changed list file of a rule holds at once"),
    HeritrixKey("preselector", "blockAll", "mapped", "rules", "in a sheet, true becomes `REJECT SurtPrefixed`"),
    HeritrixKey("preselector", "blockByRegex", "mapped", "rules", "becomes `REJECT MatchesRegex`"),
    HeritrixKey("preselector", "allowByRegex", "mapped", "rules", "becomes `REJECT NotMatchesRegex`"),
    HeritrixKey(
        "preconditions", "robotsValidityDurationSeconds", "not-mapped", "",
        "set frontier.robots_seconds in ghostfleet.toml",
    ),
    HeritrixKey("preconditions", "ipValidityDurationSeconds", "ignored", "", "the system's resolver keeps addresses"),
    HeritrixKey(
        "preconditions", "calculateRobotsOnly", "not-mapped", "",
        "robots.txt is either obeyed or ignored; set robots to ignore to fetch what it forbids",
    ),
    HeritrixKey("candidates", "seedsRedirectNewSeeds", "ignored", "", "redirects of seeds always widen the scope"),
    HeritrixKey("candidates", "processErrorOutlinks", "ignored", "", "links of error pages are taken as any others"),
    HeritrixKey(
        "cookieStorage", "cookiesLoadFile", "not-mapped", "", "keep a login by `ghostfleet profile browser create`"
    ),
    HeritrixKey("cookieStorage", "cookiesSaveFile", "ignored", "", "Redis keeps cookies until the job ends"),
    HeritrixKey(
        "diskSpaceMonitor", "pauseThresholdMiB", "not-mapped", "", "set archive.min_free_bytes in ghostfleet.toml"
    ),
)  # fmt: skip
"""All keys about which something is known. `scope`, canonicalisation, credentials and sheets are apart."""
BY_PATH: Final[Mapping[tuple[str, str], HeritrixKey]] = {(each.bean, each.name): each for each in KEYS}

PROCESS_CLASSES: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("BdbModule", "BdbUriUniqFilter", "BdbServerCache", "CrawlerLoggerModule", "StatisticsTracker", "Checkpoint",
         "CheckpointService", "ConfigPathConfigurer", "SheetOverlaysManager", "ActionDirectory", "DiskSpaceMonitor",
         "BloomUriUniqFilter", "ServerCache", "DefaultServerCache", "CrawlController", "BdbFrontier"),
        _PROCESS,
    ),
    **dict.fromkeys(
        ("CandidateChain", "FetchChain", "DispositionChain"), "our steps have a fixed order, and no chains"
    ),
    **dict.fromkeys(
        ("ExtractorHTTP", "ExtractorCSS", "ExtractorJS", "ExtractorHTML", "ExtractorXML", "ExtractorURI",
         "ExtractorRobotsTxt", "ExtractorSitemap", "ExtractorJson", "ExtractorHTMLForms", "ExtractorMultipleRegex"),
        "the extractors of links are always on",
    ),
    **dict.fromkeys(
        ("ExtractorSWF", "ExtractorPDF", "ExtractorDOC", "ExtractorUniversal", "ExtractorImpliedURI",
         "ExtractorPDFContent"),
        "this extractor has no counterpart whose options could be set",
    ),
    **dict.fromkeys(
        ("FetchHistoryProcessor", "PersistLoadProcessor", "PersistStoreProcessor", "DeDuplicator",
         "ContentDigestHistoryLoader", "ContentDigestHistoryStorer", "BdbContentDigestHistory", "PersistLogProcessor"),
        "the dedup store of the collection has the history; `ghostfleet deduplicator` converts DeDuplicator settings",
    ),
    **dict.fromkeys(
        ("SurtAuthorityQueueAssignmentPolicy", "HostnameQueueAssignmentPolicy", "IPQueueAssignmentPolicy",
         "AssignmentLevelSurtQueueAssignmentPolicy", "BucketQueueAssignmentPolicy",
         "TopmostAssignedSurtQueueAssignmentPolicy",
         "UnitCostAssignmentPolicy", "WagCostAssignmentPolicy", "ZeroCostAssignmentPolicy",
         "CostUriPrecedencePolicy", "HopsUriPrecedencePolicy", "BaseUriPrecedencePolicy", "BaseQueuePrecedencePolicy",
         "HighestUriQueuePrecedencePolicy"),
        "queues are by host and take turns; hosts are bound together by the key groups",
    ),
    **dict.fromkeys(
        ("PropertyPlaceholderConfigurer", "CustomEditorConfigurer", "HashCrawlMapper", "RecordingPrecedence"), _PROCESS
    ),
}  # fmt: skip
"""Classes whose properties have no meaning here, with the reason."""

SEEN_RULES: Final[Mapping[str, str]] = {
    "LowercaseRule": "lowercase",
    "StripWWWRule": "www",
    "StripWWWNRule": "www",
    "StripSessionIDs": "session_ids",
    "StripSessionCFIDs": "session_ids",
    "FixupQueryString": "fix_query",
    "StripExtraSlashes": "extra_slashes",
}
"""The key of `seen`, by the class of a rule of canonicalisation."""
USUAL_SEEN: Final = ("LowercaseRule", "StripWWWNRule", "StripSessionIDs", "FixupQueryString")
"""The rules that Heritrix uses when a file names none."""
SCOPE_KEYS: Final[Mapping[tuple[str, str], str]] = {
    ("TooManyHopsDecideRule", "maxHops"): "hops",
    ("TransclusionDecideRule", "maxTransHops"): "embed_hops",
    ("TransclusionDecideRule", "maxSpeculativeHops"): "speculative_hops",
    ("PathologicalPathDecideRule", "maxRepetitions"): "max_path_repeats",
    ("TooManyPathSegmentsDecideRule", "maxPathDepth"): "max_path_segments",
}
"""Keys of the profile and of sheets, by class and property of a decide rule."""
