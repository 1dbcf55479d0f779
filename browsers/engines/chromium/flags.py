"""This module has the flags and preferences of Chromium, each with its reason. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

NOWHERE: Final = "http://127.0.0.1:9"
"""The proxy of traffic that belongs to no page: the discard port, where no server listens. Windows have their own."""

PREFERENCES: Final = json.dumps(
    {
        # Else a slow or failed page makes Chromium ask connectivitycheck.gstatic.com, through the page's session.
        "alternate_error_pages": {"enabled": False},
        "dns_prefetching": {"enabled": False},
        "net": {"network_prediction_options": 2},
        "safebrowsing": {"enabled": False},
        "search": {"suggest_enabled": False},
        "signin": {"allowed": False},
        "translate": {"enabled": False},
    }
)
"""Contents of `Default/Preferences` in a new profile, for features without a flag."""

LOCAL_STATE: Final = json.dumps(
    {
        # A 401 is an answer to show and to record. Chromium would wait until a person enters a password.
        "auth": {"schemes": "none"},
    }
)
"""Contents of `Local State` in a new profile folder, for settings of the whole browser."""
WINDOW_PREFERENCES: Final = json.dumps(
    {
        **json.loads(PREFERENCES),
        "autofill": {"profile_enabled": False, "credit_card_enabled": False},
        "credentials_enable_service": False,
        # Else a part of the hash of each typed password is sent to Google.
        "profile": {"password_manager_enabled": False, "password_manager_leak_detection": False},
        "session": {"restore_on_startup": 1},  # the cookies of a session last until the window is opened again
        "privacy_sandbox": {"m1": {"topics_enabled": False, "fledge_enabled": False, "ad_measurement_enabled": False}},
    }
)
"""Contents of `Default/Preferences` in the new profile of a window that a person uses."""
LOCAL_STATE_WITH_LOGIN: Final = json.dumps({"auth": {"schemes": "basic,digest"}})
"""The same for a browser whose windows answer each 401 at once, with credentials or without."""

_FEATURES_OFF: Final = (
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",  # http:// stays http://, or the URL that was ordered is never fetched
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",  # else it looks for cast devices on the local network
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "OptimizationHints",
    "NetworkTimeServiceQuerying",
    "AimEnabled",
    "PreconnectToSearch",
    "AutofillServerCommunication",
    "CertificateTransparencyComponentUpdater",
    "InterestFeedContentSuggestions",
    "LazyFrameLoading",  # frames below the fold belong to the page, too
    "Translate",
    "SpareRendererForSitePerProcess",  # 20 MB for a start we can wait for
    "WebUIOmniboxPopup",  # 80 MB for a drop-down that nobody opens
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
)

_FEATURES_OFF_IN_WINDOWS: Final = (
    "ChromeWhatsNewUI",
    "OptimizationGuideModelDownloading",
    "PrivacySandboxSettings4",
)
"""A window of a person has no other context for the browser's own traffic, which would be recorded."""

_FEATURES_OFF_WITH_KEPT_CACHES: Final = (
    # Reports of errors are sent up to a minute later, when another page may have the port of the proxy.
    "NetworkErrorLogging",
    "Reporting",
)
_CACHE_BYTES: Final = 32 * 1024 * 1024
"""Size of each kept cache, which is in memory."""

_FEATURES_ON: Final = (
    "CDPScreenshotNewSurface",
    "NetworkServiceInProcess2",  # 27 MB for a process that has no sandbox of its own on Linux
)

_QUIET: Final = (
    "--no-first-run",
    "--no-default-browser-check",
    "--no-service-autorun",
    "--disable-field-trial-config",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-search-engine-choice-screen",
    "--metrics-recording-only",
    "--password-store=basic",
    "--use-mock-keychain",
)
"""These flags keep the browser from asking anybody anything that no page asked for."""

_STEADY: Final = (
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-back-forward-cache",
    "--disable-dev-shm-usage",
    "--disable-hang-monitor",
    "--disable-popup-blocking",
    "--disable-prompt-on-repost",
    "--allow-pre-commit-input",
    "--force-color-profile=srgb",
    f"--enable-features={','.join(_FEATURES_ON)}",
    "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4",
)
"""These flags make each page behave as the only one of a browser with a window, a mouse and a patient user."""


NO_DATAGRAMS: Final = (
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
)
"""WebRTC sends nothing round the proxy."""


def launch_flags(
    trusted: Sequence[str],
    proxy_hosts: Iterable[str],
    lang: str,
    *,
    sandbox: bool,
    webdriver: bool = False,
    has_display: bool = False,
    keeps_caches: bool = False,
) -> list[str]:
    """Return the command line of Chromium, besides its profile folder.

    With `webdriver`, `navigator.webdriver` is true for pages. With `has_display`, people see the windows. With
    `keeps_caches`, a browser context serves one visit after the other.

    `trusted` are the hashes of the keys whose certificates are trusted without a public CA. Chromium obeys this flag
    only with a profile folder of its own. `proxy_hosts` are the hosts on which sessions listen.
    """
    reachable = ", ".join(f"EXCLUDE {host}" for host in sorted(set(proxy_hosts) | {"127.0.0.1"}))
    tags = [part.partition(";")[0].strip() for part in lang.split(",")]  # Chromium makes the weights by itself
    flags = [
        *([] if has_display else ["--headless"]),
        "--no-startup-window",
        "--remote-debugging-pipe",
        *_QUIET,
        *_STEADY,
        f"--proxy-server={NOWHERE}",
        trust_flag(trusted),
        f"--host-resolver-rules=MAP * ~NOTFOUND, {reachable}",  # names are the proxy's to resolve; no DNS from here
        "--proxy-bypass-list=<-loopback>",  # else localhost, 127/8, 169.254/16 and the like go round the proxy
        "--disable-quic",
        *NO_DATAGRAMS,
        "--no-pings",  # hyperlink auditing is noise; beacons that scripts send are kept
        "--disable-domain-reliability",
        "--disable-client-side-phishing-detection",
        "--autoplay-policy=no-user-gesture-required",
        "--mute-audio",
        "--hide-scrollbars",
        f"--lang={tags[0]}",
        f"--accept-lang={','.join(tags)}",
        f"--disable-features={','.join((*_FEATURES_OFF, *(_FEATURES_OFF_WITH_KEPT_CACHES if keeps_caches else ())))}",
    ]
    if keeps_caches:
        flags.append(f"--disk-cache-size={_CACHE_BYTES}")
    if not webdriver:
        flags.append("--disable-blink-features=AutomationControlled")
    if not sandbox:
        flags.append("--no-sandbox")
    return flags


def recorded_window_flags(trusted: Sequence[str], proxy: str, profile: str, *, is_visible: bool) -> list[str]:
    """Return the command line of a browser that a person uses, and whose whole traffic goes through one proxy."""
    return [
        f"--user-data-dir={profile}",
        *([] if is_visible else ["--headless"]),
        *_QUIET,
        f"--proxy-server=http://{proxy}",
        trust_flag(trusted),
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        "--proxy-bypass-list=<-loopback>",
        "--disable-quic",
        *NO_DATAGRAMS,
        "--no-pings",
        "--disable-sync",
        "--disable-domain-reliability",
        "--disable-client-side-phishing-detection",
        "--disable-blink-features=AutomationControlled",  # a person steers, and pages are told so
        "--gaia-url=http://127.0.0.1:9/",  # no question for accounts of Google, which would be recorded
        f"--disable-features={','.join((*_FEATURES_OFF, *_FEATURES_OFF_IN_WINDOWS))}",
    ]


def trust_flag(trusted: Sequence[str]) -> str:
    """Return the flag that makes Chromium trust certificates with these hashes of their keys."""
    return f"--ignore-certificate-errors-spki-list={','.join(trusted)}"


def page_user_agent(version: str, platform: str) -> str:
    """Return the User-Agent of this browser with a window, since sites treat "Headless" differently.

    Of a `version` such as 156.0.8078.79, only the first number is sent (User-Agent reduction).
    """
    system = "Macintosh; Intel Mac OS X 10_15_7" if platform == "darwin" else "X11; Linux x86_64"
    major = version.partition(".")[0]
    return f"Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{major}.0.0.0 Safari/537.36"


def page_user_agent_hints(version: str, platform: str) -> dict[str, object]:
    """Return the User-Agent Client Hints of this browser with a window, as `Emulation.setUserAgentOverride` has them.

    The headless browser names itself HeadlessChrome in them.
    """
    major = version.partition(".")[0]
    brands = (("Chromium", major, version), ("Not_A Brand", "99", "99.0.0.0"))
    return {
        "brands": [{"brand": name, "version": short} for name, short, _ in brands],
        "fullVersionList": [{"brand": name, "version": full} for name, _, full in brands],
        "platform": "macOS" if platform == "darwin" else "Linux",
        "platformVersion": "",
        "architecture": "x86",
        "model": "",
        "mobile": False,
        "bitness": "64",
        "wow64": False,
    }


def user_agent_override(chosen: str, version: str, platform: str) -> Mapping[str, object]:
    """Return the parameters of `Emulation.setUserAgentOverride`. `chosen` is the setting browsers.user_agent."""
    if chosen:
        return {"userAgent": chosen}
    return {
        "userAgent": page_user_agent(version, platform),
        "userAgentMetadata": page_user_agent_hints(version, platform),
    }
