"""This module has the preferences of Firefox, each group with its reason. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from browsers.engines.interface import Device

type Preference = bool | int | str

_NOWHERE: Final = ""
"""Address of a service that is not asked."""

_PROXY: Final[Mapping[str, Preference]] = {
    # Windows have proxies of their own. All other traffic goes to the discard port, where no server listens.
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "network.proxy.socks": "127.0.0.1",
    "network.proxy.socks_port": 9,
    "network.proxy.socks_remote_dns": True,
    "network.proxy.no_proxies_on": "",
    "network.proxy.allow_hijacking_localhost": True,  # else localhost and 127/8 go round the proxy
    "network.proxy.testing_localhost_is_secure_when_hijacked": True,
    "network.proxy.allow_bypass": False,
    "network.proxy.failover_direct": False,
    "network.trr.mode": 5,  # no DNS over HTTPS
    "network.dns.disablePrefetch": True,
    "network.dns.disablePrefetchFromHTTPS": True,
    "network.dns.native_https_query": False,
    "network.http.http3.enable": False,
    "network.webtransport.enabled": False,
    "media.peerconnection.ice.proxy_only": True,
    "network.gio.supported-protocols": "",
    "network.file.disable_unc_paths": True,
}

_QUIET: Final[Mapping[str, Preference]] = {
    # The browser asks nobody anything that no page asked for.
    "app.normandy.enabled": False,
    "app.normandy.api_url": _NOWHERE,
    "app.shield.optoutstudies.enabled": False,
    "app.update.auto": False,
    "app.update.enabled": False,
    "app.update.background.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.aboutHomeSnippets.updateUrl": _NOWHERE,
    "browser.backup.enabled": False,
    "browser.contentblocking.report.monitor.enabled": False,
    "browser.discovery.enabled": False,
    "browser.ml.enable": False,
    "browser.newtabpage.enabled": False,
    "browser.newtabpage.activity-stream.asrouter.userprefs.cfr.features": False,
    "browser.newtabpage.activity-stream.feeds.section.topstories": False,
    "browser.newtabpage.activity-stream.feeds.system.topstories": False,
    "browser.newtabpage.activity-stream.showSponsoredTopSites": False,
    "browser.newtabpage.activity-stream.system.showWeather": False,
    "browser.newtabpage.activity-stream.telemetry": False,
    "browser.newtabpage.activity-stream.testing.shouldInitializeFeeds": False,
    "browser.pagethumbnails.capturing_disabled": True,
    "browser.ping-centre.telemetry": False,
    "browser.places.speculativeConnect.enabled": False,
    "browser.region.network.url": _NOWHERE,
    "browser.region.update.enabled": False,
    "browser.safebrowsing.blockedURIs.enabled": False,
    "browser.safebrowsing.downloads.enabled": False,
    "browser.safebrowsing.downloads.remote.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.passwords.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.safebrowsing.provider.google4.updateURL": _NOWHERE,
    "browser.safebrowsing.provider.google5.updateURL": _NOWHERE,
    "browser.safebrowsing.provider.mozilla.updateURL": _NOWHERE,
    "browser.safebrowsing.update.enabled": False,
    "browser.search.geoip.url": _NOWHERE,
    "browser.search.suggest.enabled": False,
    "browser.search.update": False,
    "browser.topsites.contile.enabled": False,
    "browser.translations.enable": False,
    "browser.urlbar.merino.endpointURL": _NOWHERE,
    "browser.urlbar.quicksuggest.enabled": False,
    "browser.urlbar.speculativeConnect.enabled": False,
    "browser.urlbar.suggest.searches": False,
    "captivedetect.canonicalURL": _NOWHERE,
    "datareporting.healthreport.uploadEnabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "datareporting.usage.uploadEnabled": False,
    "doh-rollout.disable-heuristics": True,
    "dom.push.connection.enabled": False,
    "dom.push.serverURL": _NOWHERE,
    "extensions.blocklist.enabled": False,
    "extensions.getAddons.cache.enabled": False,
    "extensions.getAddons.discovery.api_url": "data:, ",
    "extensions.installDistroAddons": False,
    "extensions.pocket.enabled": False,
    "extensions.systemAddon.update.enabled": False,
    "extensions.systemAddon.update.url": _NOWHERE,
    "extensions.update.enabled": False,
    "extensions.webcompat-reporter.enabled": False,
    "geo.enabled": False,
    "geo.provider.network.url": _NOWHERE,
    "geo.wifi.scan": False,
    "identity.fxaccounts.enabled": False,
    "media.gmp-manager.url": "data:, ",
    "media.gmp-manager.updateEnabled": False,
    "media.gmp-gmpopenh264.enabled": False,
    "media.gmp-widevinecdm.enabled": False,
    "messaging-system.rsexperimentloader.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.http.speculative-parallel-limit": 0,
    "network.notify.checkForProxies": False,
    "network.predictor.enabled": False,
    "network.sntp.pools": _NOWHERE,
    "nimbus.rollouts.enabled": False,
    "places.semanticHistory.featureGate": False,
    "privacy.query_stripping.enabled": False,
    "security.OCSP.enabled": 0,
    "security.certerrors.mitm.priming.enabled": False,
    "security.pki.crlite_mode": 0,
    "security.remote_settings.crlite_filters.enabled": False,
    "security.remote_settings.intermediates.enabled": False,
    "services.settings.server": "data:,#nothing/v1",
    "services.settings.poll_interval": 100_000_000,
    "services.sync.enabled": False,
    "signon.management.page.breach-alerts.enabled": False,
    "termsofuse.bypassNotification": True,
    "toolkit.telemetry.enabled": False,
    "toolkit.telemetry.archive.enabled": False,
    "toolkit.telemetry.server": "data:,",
    "toolkit.telemetry.unified": False,
    "telemetry.fog.test.localhost_port": -1,
    "browser.chrome.site_icons": False,  # only pages fetch icons, as in Chromium without a window
    "browser.send_pings": False,
    "beacon.enabled": True,
}

_FAITHFUL: Final[Mapping[str, Preference]] = {
    # http:// stays http://, or the URL that was ordered is never fetched. Nothing of a page is blocked.
    "dom.security.https_only_mode": False,
    "dom.security.https_first": False,
    "dom.security.https_first_pbm": False,
    "dom.security.https_first_schemeless": False,
    "security.mixed_content.upgrade_display_content": False,
    "network.http.upgrade_insecure_requests.https_rr": False,
    "network.dns.upgrade_with_https_rr": False,
    "network.dns.use_https_rr_as_altsvc": False,
    "network.http.altsvc.enabled": False,
    "network.cookie.cookieBehavior": 0,
    "network.cookie.cookieBehavior.pbmode": 0,
    "network.cookie.sameSite.laxByDefault": False,
    "privacy.trackingprotection.enabled": False,
    "privacy.trackingprotection.pbmode.enabled": False,
    "privacy.trackingprotection.annotate_channels": False,
    "privacy.trackingprotection.cryptomining.enabled": False,
    "privacy.trackingprotection.fingerprinting.enabled": False,
    "privacy.trackingprotection.socialtracking.enabled": False,
    "privacy.fingerprintingProtection": False,
    "privacy.purge_trackers.enabled": False,
    "network.http.referer.disallowCrossSiteRelaxingDefault": False,
    "media.autoplay.default": 0,
    "media.autoplay.blocking_policy": 0,
    "media.volume_scale": "0.0",
    "dom.disable_open_during_load": False,
    "dom.popup_maximum": -1,
    "dom.iframe_lazy_loading.enabled": False,  # frames below the fold belong to the page, too
    "pdfjs.disabled": True,
    "permissions.default.desktop-notification": 2,
    "permissions.default.geo": 2,
    "permissions.default.camera": 2,
    "permissions.default.microphone": 2,
    "browser.download.alwaysOpenPanel": False,
    "browser.http.blank_page_with_error_response.enabled": True,
}

_STEADY: Final[Mapping[str, Preference]] = {
    # Each page behaves as the only one of a browser with a window, a mouse and a patient user.
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "browser.startup.homepage": "about:blank",
    "browser.startup.homepage_override.mstone": "ignore",
    "browser.startup.couldRestoreSession.count": -1,
    "browser.sessionstore.resume_from_crash": False,
    "browser.sessionstore.interval": 100_000_000,
    "browser.sessionhistory.max_total_viewers": 0,
    "fission.bfcacheInParent": False,
    "browser.cache.disk.enable": False,
    "browser.tabs.unloadOnLowMemory": False,
    "browser.tabs.warnOnClose": False,
    "browser.tabs.warnOnCloseOtherTabs": False,
    "browser.tabs.loadDivertedInBackground": True,  # a window that a page opens does not hide the page
    "browser.link.open_newwindow": 3,
    "browser.link.open_newwindow.restriction": 0,
    "browser.tabs.remote.unloadDelayMs": 0,
    "browser.warnOnQuit": False,
    "browser.toolbars.bookmarks.visibility": "never",
    "datareporting.policy.dataSubmissionPolicyBypassNotification": True,
    "dom.ipc.processPriorityManager.enabled": False,
    "dom.ipc.reportProcessHangs": False,
    "dom.ipc.processPrelaunch.enabled": False,
    "dom.max_chrome_script_run_time": 0,
    "dom.max_script_run_time": 0,
    "dom.min_background_timeout_value": 4,
    "dom.timeout.enable_budget_timer_throttling": False,
    "dom.timeout.throttling_delay": 100_000_000,
    "dom.navigation.navigationRateLimit.count": 0,
    "dom.successive_dialog_time_limit": 0,
    "dom.input_events.security.minNumTicks": 0,
    "dom.input_events.security.minTimeElapsedInMS": 0,
    "focusmanager.testmode": True,
    "general.smoothScroll": False,
    "layout.css.scroll-behavior.enabled": True,
    "mousewheel.allow_scrolling_more_than_one_page": True,
    "network.http.phishy-userpass-length": 255,
    "network.http.prompt-temp-redirect": False,
    "network.manage-offline-status": False,
    "network.automatic-ntlm-auth.allow-proxies": False,
    "network.negotiate-auth.allow-proxies": False,
    "network.auth.subresource-http-auth-allow": 0,
    "security.notification_enable_delay": 0,
    "signon.autofillForms": False,
    "signon.rememberSignons": False,
    "startup.homepage_welcome_url": "about:blank",
    "toolkit.cosmeticAnimations.enabled": False,
    "toolkit.startup.max_resumed_crashes": -1,
    "trailhead.firstrun.didSeeAboutWelcome": True,
    "browser.aboutwelcome.enabled": False,
    "ui.systemUsesDarkTheme": 0,
    "ui.useOverlayScrollbars": 1,
    "widget.gtk.overlay-scrollbars.enabled": True,
    "layout.testing.overlay-scrollbars.always-visible": False,
    "gfx.color_management.mode": 0,
    "remote.events.async.mouse.enabled": True,  # events pass through the whole browser, into frames of other processes
    "remote.events.async.wheel.enabled": True,
}

_PERSON: Final[Mapping[str, Preference]] = {
    # A person sees, hears and reads what the window shows, and is not asked about the browser itself.
    "browser.aboutwelcome.enabled": False,
    "browser.sessionstore.resume_from_crash": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage": "about:blank",
    "browser.startup.homepage_override.mstone": "ignore",
    "browser.startup.page": 0,
    "browser.tabs.warnOnClose": False,
    "browser.warnOnQuit": False,
    "datareporting.policy.dataSubmissionPolicyBypassNotification": True,
    "dom.disable_open_during_load": True,
    "dom.popup_maximum": 20,
    "media.volume_scale": "1.0",
    "pdfjs.disabled": False,
    "signon.rememberSignons": False,
    "startup.homepage_welcome_url": "about:blank",
    "trailhead.firstrun.didSeeAboutWelcome": True,
}

_DARK, _LIGHT = 0, 1
_ALL_FILES = 2


def preferences_of(device: Device, *, answers_401: bool = False) -> dict[str, Preference]:
    """Return the preferences of a browser whose windows look like this device.

    With `answers_401`, files of a page may be asked for with credentials, too. Otherwise their 401 ends them at once.

    `lang`, `has_touch`, `is_mobile` and `dark` are properties of the whole browser in Firefox.
    """
    found = {**_PROXY, **_QUIET, **_FAITHFUL, **_STEADY}
    found["layout.css.prefers-color-scheme.content-override"] = _DARK if device.dark else _LIGHT
    if answers_401:
        found["network.auth.subresource-http-auth-allow"] = _ALL_FILES
    if device.lang:
        found["intl.accept_languages"] = ", ".join(each.partition(";")[0].strip() for each in device.lang.split(","))
    if device.has_touch:
        found |= {
            "dom.w3c_touch_events.enabled": 1,
            "dom.w3c_touch_events.legacy_apis.enabled": True,
            "dom.maxtouchpoints.testing.value": 5,
        }
    if device.is_mobile:
        found |= {"dom.meta-viewport.enabled": True}
    return found


def window_preferences(host: str, port: int) -> dict[str, Preference]:
    """Return the preferences of a window in which a person captures through the proxy at this address."""
    proxy: dict[str, Preference] = {
        "network.proxy.http": host,
        "network.proxy.http_port": port,
        "network.proxy.ssl": host,
        "network.proxy.ssl_port": port,
    }
    return {**_PROXY, **_QUIET, **_FAITHFUL, **proxy, **_PERSON}


def user_js(preferences: Mapping[str, Preference]) -> str:
    """Return the file `user.js` of a profile, which Firefox reads at each start."""
    lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in preferences.items())
    return "".join(lines)
