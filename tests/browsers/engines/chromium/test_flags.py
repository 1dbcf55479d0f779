"""How Chromium is started, and what is trusted."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from browsers.engines.chromium.flags import PREFERENCES, launch_flags, page_user_agent
from browsers.engines.chromium.trust import spki_hash


def test_flags_trust_our_keys_and_reach_only_the_proxies() -> None:
    flags = launch_flags(("hash=", "other="), ["10.0.0.7", "127.0.0.1"], "de", sandbox=True)

    assert "--ignore-certificate-errors-spki-list=hash=,other=" in flags
    assert "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 10.0.0.7, EXCLUDE 127.0.0.1" in flags
    assert "--proxy-bypass-list=<-loopback>" in flags
    assert "--disable-quic" in flags
    assert "--accept-lang=de" in flags
    assert "--no-sandbox" not in flags
    assert not any(
        flag.startswith("--ignore-certificate-errors=") or flag == "--ignore-certificate-errors" for flag in flags
    )


def test_the_sandbox_goes_only_when_it_must() -> None:
    assert "--no-sandbox" in launch_flags(("hash=",), [], "en", sandbox=False)


def test_features_are_switched_off_in_one_list_since_only_the_last_counts() -> None:
    lists = [flag for flag in launch_flags(("h",), [], "en", sandbox=True) if flag.startswith("--disable-features=")]

    assert len(lists) == 1
    assert {"HttpsUpgrades", "MediaRouter"} <= set(lists[0].partition("=")[2].split(","))


def test_late_reports_are_switched_off_when_caches_are_kept() -> None:
    (cold,), (kept,) = (
        [
            flag.partition("=")[2].split(",")
            for flag in launch_flags(("h",), [], "en", sandbox=True, keeps_caches=keeps)
            if flag.startswith("--disable-features=")
        ]
        for keeps in (False, True)
    )

    assert set(kept) - set(cold) == {"NetworkErrorLogging", "Reporting"}


def test_preferences_are_json_and_ask_nobody_about_failed_pages() -> None:
    assert json.loads(PREFERENCES)["alternate_error_pages"] == {"enabled": False}


@pytest.mark.parametrize(
    ("platform", "system"), [("linux", "X11; Linux x86_64"), ("darwin", "Macintosh; Intel Mac OS X 10_15_7")]
)
def test_the_user_agent_is_the_one_of_a_browser_with_a_window(platform: str, system: str) -> None:
    assert page_user_agent("156.0.8078.79", platform) == (
        f"Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"
    )


def test_the_hash_is_of_the_public_key_only() -> None:
    pem = trustme.CA().cert_pem.bytes()
    key = x509.load_pem_x509_certificate(pem).public_key()

    expected = hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()

    assert base64.b64decode(spki_hash(pem)) == expected
