"""The adapter is the only module that imports mitmproxy: every name of mitmproxy that the proxy uses comes from here.

mitmproxy promises stable names for scripts alone. Its layers, its certificate store and the modules that begin with an
underscore may change in any release. `tests/test_library_contracts.py` compares the names that we use with the
installed release. The names are bound at import, so that an exchange pays nothing for the detour.

`mitmproxy.addons` imports all addons, a web server and an LDAP client among them: 270 modules and 14 MB of memory in
each recording process. The adapter imports one of its modules without the package's own code. Another module, a user's
script for instance, can still import the whole package.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec
from typing import Any, Final

from mitmproxy import certs, connection, hooks, http
from mitmproxy.addonmanager import AddonManager
from mitmproxy.exceptions import AddonHalt
from mitmproxy.options import Options
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context as LayerContext
from mitmproxy.proxy.layers import ClientTLSLayer
from mitmproxy.proxy.layers import http as http_layer
from mitmproxy.proxy.layers.http import _events as http_events
from mitmproxy.proxy.layers.http._base import HttpEvent
from mitmproxy.proxy.layers.http._hooks import HttpResponseHeadersHook
from mitmproxy.proxy.layers.http._http_h2 import BufferedH2Connection
from mitmproxy.proxy.layers.modes import HttpProxy
from mitmproxy.proxy.layers.tls import TlsEstablishedClientHook, TlsFailedClientHook
from mitmproxy.proxy.server_hooks import ServerDisconnectedHook

_PACKAGE: Final = "mitmproxy.addons"

__all__ = [
    "AddonHalt",
    "AddonManager",
    "BufferedH2Connection",
    "ClientTLSLayer",
    "HttpEvent",
    "HttpProxy",
    "HttpResponseHeadersHook",
    "LayerContext",
    "Master",
    "Options",
    "ServerDisconnectedHook",
    "TlsConfig",
    "TlsEstablishedClientHook",
    "TlsFailedClientHook",
    "certs",
    "commands",
    "connection",
    "events",
    "hook_functions",
    "hooks",
    "http",
    "http_events",
    "http_layer",
    "layer",
]


@contextmanager
def _without_package_code() -> Iterator[None]:
    """Let modules of `mitmproxy.addons` be imported without the code of the package itself.

    The package stands in `sys.modules` meanwhile and knows its folder, but its `__init__` has not run.
    """
    spec = None if _PACKAGE in sys.modules else find_spec(_PACKAGE)
    if spec is None:
        yield
        return
    sys.modules[_PACKAGE] = module_from_spec(spec)
    try:
        yield
    finally:
        del sys.modules[_PACKAGE]


with _without_package_code():
    from mitmproxy.addons.tlsconfig import TlsConfig
    from mitmproxy.master import Master


def hook_functions(manager: AddonManager, addon: object, hook: hooks.Hook) -> Iterator[Callable[..., Any]]:
    """Yield the functions by which an addon answers a hook.

    mitmproxy's public methods call these functions themselves, and none of them waits for a coroutine of one addon
    alone and passes its exception on.
    """
    for _, function in manager._iter_hooks(addon, hook):
        yield function
