"""This module makes Firefox trust the recording proxy's authority, by a certificate database in the profile.

Chromium is told to trust single keys. Firefox has nothing of this kind: `acceptInsecureCerts` would accept each
certificate, and a policy file is read only from folders of the system. So the authority's certificate is put into the
files cert9.db and key4.db of a new profile, as Firefox itself does when a user imports an authority. Firefox's own
library NSS writes the files (its documented functions are the same in all releases), in a process of its own, since a
worker may hold other libraries of the same name. Public authorities stay trusted, but no byte reaches a window besides
through the proxy, whose certificates all come from its own authority.
"""

from __future__ import annotations

import ctypes
import logging
import os
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from ctypes import c_char_p, c_int, c_uint, c_ulong, c_void_p
from pathlib import Path
from typing import Any, Final

from browsers.visit import FleetUnavailable

log = logging.getLogger(__name__)
_FILES: Final = ("cert9.db", "key4.db", "pkcs11.txt")
_SECONDS: Final = 60
_LIBRARY: Final = "libnss3.so" if sys.platform != "darwin" else "libnss3.dylib"
_VALID_AUTHORITY: Final = 0x08
_TRUSTED_AUTHORITY: Final = 0x10
"""Flags of NSS (certdb.h): the certificate is of an authority, which is trusted for servers."""
_NAME: Final = b"recording proxy"


def make_database(executable: Path, authority: bytes) -> Mapping[str, bytes]:
    """Return the files of a certificate database with this authority (a certificate as PEM), by their names.

    Raises FleetUnavailable when Firefox's library is missing or refuses.
    """
    library = _library(executable)
    with tempfile.TemporaryDirectory(prefix="ghostfleet-trust-") as folder:
        ran = subprocess.run(
            [sys.executable, "-m", "browsers.engines.firefox.trust", str(library), folder],
            input=ssl.PEM_cert_to_DER_cert(authority.decode("ascii")),
            env={**os.environ, "LD_LIBRARY_PATH": str(library.parent), "DYLD_LIBRARY_PATH": str(library.parent)},
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
        try:
            ran.check_returncode()
            return {name: (Path(folder) / name).read_bytes() for name in _FILES}
        except (subprocess.CalledProcessError, OSError) as error:
            log.error("Firefox can't be told to trust the proxy: %s", ran.stderr.decode("utf-8", "replace")[-500:])
            raise FleetUnavailable("proxy-not-trusted") from error


def _library(executable: Path) -> Path:
    """Return NSS in the folder of the browser, else the system's by its name."""
    for folder in (executable.resolve().parent, *executable.resolve().parents[1:3]):
        for found in (folder / _LIBRARY, folder / "Frameworks" / _LIBRARY):
            if found.is_file():
                return found
    return Path(_LIBRARY)


class _Item(ctypes.Structure):
    """The structure is `SECItem` of NSS."""

    _fields_ = (("type", c_int), ("data", c_char_p), ("length", c_uint))


class _Trust(ctypes.Structure):
    """The structure is `CERTCertTrust` of NSS."""

    _fields_ = (("servers", c_uint), ("mail", c_uint), ("objects", c_uint))


def _write(library: str, folder: str, certificate: bytes) -> None:
    """Write the database by NSS. Raises OSError."""
    nss = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)

    def call(name: str, result: Any, *arguments: tuple[Any, Any]) -> Any:
        function = getattr(nss, name)
        function.restype = result
        function.argtypes = [kind for kind, _ in arguments]
        answer = function(*(value for _, value in arguments))
        if (result is c_int and answer != 0) or (result is c_void_p and not answer):
            raise OSError(f"{name} failed")
        return answer

    call("NSS_InitReadWrite", c_int, (c_char_p, f"sql:{folder}".encode()))
    slot = call("PK11_GetInternalKeySlot", c_void_p)
    call("PK11_InitPin", c_int, (c_void_p, slot), (c_char_p, None), (c_char_p, b""))
    database = call("CERT_GetDefaultCertDB", c_void_p)
    item = ctypes.pointer(_Item(0, certificate, len(certificate)))
    made = call(
        "CERT_NewTempCertificate",
        c_void_p,
        *((c_void_p, database), (c_void_p, ctypes.cast(item, c_void_p)), (c_char_p, None), (c_int, 0), (c_int, 1)),
    )
    call(
        "PK11_ImportCert",
        c_int,
        *((c_void_p, slot), (c_void_p, made), (c_ulong, 0), (c_char_p, _NAME), (c_int, 0)),
    )
    trust = ctypes.pointer(_Trust(_VALID_AUTHORITY | _TRUSTED_AUTHORITY, 0, 0))
    call(
        "CERT_ChangeCertTrust", c_int, (c_void_p, database), (c_void_p, made), (c_void_p, ctypes.cast(trust, c_void_p))
    )
    call("CERT_DestroyCertificate", None, (c_void_p, made))
    call("PK11_FreeSlot", None, (c_void_p, slot))
    call("NSS_Shutdown", c_int)


if __name__ == "__main__":
    _write(sys.argv[1], sys.argv[2], sys.stdin.buffer.read())
