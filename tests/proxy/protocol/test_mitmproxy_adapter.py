"""Of mitmproxy's addons a recording process imports one; the others are there for those who ask."""

from __future__ import annotations

import subprocess
import sys


def python(script: str) -> list[str]:
    command = [sys.executable, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_the_others_and_what_they_need_are_not_imported_until_a_script_asks_for_them() -> None:
    seen = python(
        "import sys, proxy.process.serve\n"
        "print(*(name for name in ('mitmproxy.addons', 'flask', 'ldap3') if name in sys.modules))\n"
        "from proxy.protocol.mitmproxy_adapter import TlsConfig\n"
        "from mitmproxy.addons import default_addons, proxyauth, tlsconfig\n"
        "print(TlsConfig is tlsconfig.TlsConfig, len(default_addons()) > 20)"
    )

    assert seen == ["True", "True"]


def test_one_who_had_them_already_gets_the_same() -> None:
    seen = python(
        "from mitmproxy.addons import tlsconfig\n"
        "from proxy.protocol.mitmproxy_adapter import TlsConfig\n"
        "print(TlsConfig is tlsconfig.TlsConfig)"
    )

    assert seen == ["True"]
