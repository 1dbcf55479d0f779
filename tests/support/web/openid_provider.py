"""An OpenID Connect provider that runs on a free port of the loopback."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import oidc_provider_mock
from werkzeug.serving import make_server


@contextmanager
def running_provider(**options: Any) -> Iterator[str]:
    """Run a provider until the end of the block, and yield its address. `oidc_provider_mock.app` takes the options.

    `oidc_provider_mock.run_server_in_thread` would fail when a busy machine needs more than a second to end the server.
    """
    server = make_server("localhost", 0, oidc_provider_mock.app(**options), threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://localhost:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
