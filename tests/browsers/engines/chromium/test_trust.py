"""Which keys a browser is told to trust: those of the home, else those that the proxy names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import trustme
from support.browsers.visits import Fleet
from support.origins.raw_origin import RawOrigin, Send, response
from support.processes.machine_needs import free_port

from browsers.engines.chromium.trust import spki_hash, trusted_keys
from browsers.visit import FleetUnavailable

NOBODY = "127.0.0.1:9"
CA_PEM = trustme.CA().cert_pem.bytes()


def keys_of(home: Path) -> tuple[str, str]:
    """Return the hashes of the leaf's and the CA's key as the files of the home have them."""
    return (home / "ca" / "leaf.spki").read_text().strip(), spki_hash((home / "ca" / "ca.pem").read_bytes())


def test_a_home_names_the_key_of_leaves_and_the_authority_s_without_asking_anybody(fleet: Fleet) -> None:
    leaf, authority = keys_of(fleet.home)

    assert leaf != authority
    assert trusted_keys(fleet.home, NOBODY) == (leaf, authority)


def test_a_worker_with_an_empty_home_asks_the_proxy_for_both(fleet: Fleet, tmp_path: Path) -> None:
    assert trusted_keys(tmp_path, fleet.proxy.ready["proxy"]) == keys_of(fleet.home)


def test_a_home_with_a_copy_of_the_authority_only_asks_the_proxy_for_the_key_of_leaves(
    fleet: Fleet, tmp_path: Path
) -> None:
    (tmp_path / "ca").mkdir()
    shutil.copy(fleet.home / "ca" / "ca.pem", tmp_path / "ca")

    assert trusted_keys(tmp_path, fleet.proxy.ready["proxy"]) == keys_of(fleet.home)


def test_with_a_proxy_of_an_earlier_release_the_authority_s_key_is_trusted(origin: RawOrigin, tmp_path: Path) -> None:
    """Such a proxy has no page /leaf.spki, and the authority's key is in its leaf certificates (T31)."""
    origin.script("/ca.pem", Send(response(CA_PEM)))

    assert trusted_keys(tmp_path, origin.authority) == (spki_hash(CA_PEM),)


@pytest.mark.parametrize("told", [b"", b"x", b"A" * 43 + b"=," + b"B" * 43 + b"=", b"A" * 43 + b"= --no-sandbox"])
def test_an_answer_that_is_no_single_hash_is_refused(origin: RawOrigin, tmp_path: Path, told: bytes) -> None:
    origin.script("/ca.pem", Send(response(CA_PEM)))
    origin.script("/leaf.spki", Send(response(told)))

    with pytest.raises(FleetUnavailable, match="bad-leaf-key-hash"):
        trusted_keys(tmp_path, origin.authority)


def test_an_answer_that_is_no_certificate_is_refused(origin: RawOrigin, tmp_path: Path) -> None:
    origin.script("/ca.pem", Send(response(b"<html>")))

    with pytest.raises(FleetUnavailable, match="no-ca-certificate"):
        trusted_keys(tmp_path, origin.authority)


def test_without_a_home_and_a_proxy_the_fleet_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(FleetUnavailable, match="no-ca-certificate"):
        trusted_keys(tmp_path, f"127.0.0.1:{free_port()}")
