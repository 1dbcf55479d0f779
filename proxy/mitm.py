"""mitmproxy's Master, and of its addons TlsConfig alone.

The package of the addons imports all of them, a web server and an LDAP client among them: 270 modules and 14 MB of
memory in each recording process. It can still be imported; whoever wants it, a user's script say, gets it whole.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec
from typing import Final

_PACKAGE: Final = "mitmproxy.addons"

__all__ = ["Master", "TlsConfig"]


@contextmanager
def _its_modules_one_by_one() -> Iterator[None]:
    spec = None if _PACKAGE in sys.modules else find_spec(_PACKAGE)
    if spec is None:
        yield
        return
    sys.modules[_PACKAGE] = module_from_spec(spec)  # knows where its modules are; its own code has not run
    try:
        yield
    finally:
        del sys.modules[_PACKAGE]


with _its_modules_one_by_one():
    from mitmproxy.addons.tlsconfig import TlsConfig
    from mitmproxy.master import Master
