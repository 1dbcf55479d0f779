"""This module has the flags and preferences of Chromium, each with its reason. Pure.

Playwright has defaults of its own (for example no background networking and no component updates), and these flags are
added to them. Chromium uses only the last `--disable-features`, so that our list repeats Playwright's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final

NOWHERE: Final = "http://127.0.0.1:9"
"""The proxy of traffic that belongs to no page: the discard port, where no server listens. Contexts have their own."""

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

_FEATURES_OFF: Final = (
    # As Playwright has them:
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
    # Ours:
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


def launch_flags(trusted: Sequence[str], proxy_hosts: Iterable[str], lang: str, *, sandbox: bool) -> list[str]:
    """Return the command line of Chromium, besides Playwright's flags.

    `trusted` are the hashes of the keys whose certificates are trusted without a public CA. Chromium obeys this flag
    only with a profile folder of its own. `proxy_hosts` are the hosts on which sessions listen.
    """
    reachable = ", ".join(f"EXCLUDE {host}" for host in sorted(set(proxy_hosts) | {"127.0.0.1"}))
    flags = [
        trust_flag(trusted),
        f"--host-resolver-rules=MAP * ~NOTFOUND, {reachable}",  # names are the proxy's to resolve; no DNS from here
        "--proxy-bypass-list=<-loopback>",  # else localhost, 127/8, 169.254/16 and the like go round the proxy
        "--disable-quic",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--no-pings",  # hyperlink auditing is noise; beacons that scripts send are kept
        "--disable-domain-reliability",
        "--disable-client-side-phishing-detection",
        "--autoplay-policy=no-user-gesture-required",
        "--mute-audio",
        "--hide-scrollbars",
        f"--lang={lang}",
        f"--accept-lang={lang}",
        f"--disable-features={','.join(_FEATURES_OFF)}",
    ]
    return flags if sandbox else [*flags, "--no-sandbox"]


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
