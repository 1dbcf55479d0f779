"""How Chromium is started: flags and preferences, each with its reason. Pure.

Playwright adds its own defaults (no background networking, no component updates, sRGB colours, and so on); what is
here comes on top. Chromium takes only the last `--disable-features`, so that list repeats Playwright's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

NOWHERE: Final = "http://127.0.0.1:9"
"""Proxy of traffic that belongs to no page: the discard port, where nothing listens. Contexts have their own."""

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
"""Contents of `Default/Preferences` in a new profile: what no flag can switch off."""

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


def launch_flags(spki: str, proxy_hosts: Iterable[str], lang: str, *, sandbox: bool) -> list[str]:
    """Chromium's command line, beyond Playwright's own.

    `spki` is the only key whose certificates are trusted although no public authority vouches for them (it needs
    a profile folder of its own to count). `proxy_hosts` are the hosts on which sessions listen.
    """
    reachable = ", ".join(f"EXCLUDE {host}" for host in sorted(set(proxy_hosts) | {"127.0.0.1"}))
    flags = [
        f"--ignore-certificate-errors-spki-list={spki}",
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


def page_user_agent(version: str, platform: str) -> str:
    """The User-Agent that this browser has with a window: sites serve "Headless" something else than people get.

    `version` is such as 156.0.8078.79, of which the minor parts are not told (User-Agent reduction).
    """
    system = "Macintosh; Intel Mac OS X 10_15_7" if platform == "darwin" else "X11; Linux x86_64"
    major = version.partition(".")[0]
    return f"Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{major}.0.0.0 Safari/537.36"
