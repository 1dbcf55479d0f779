"""warcprox's own Python runs this program: warcprox, with one address for all names below a domain.

The first argument is the address, the second one the domain, and the others are those of warcprox.
"""

from __future__ import annotations

import socket
import sys
from typing import Any

_ask = socket.getaddrinfo


def main() -> None:
    """Run warcprox with its own arguments."""
    address, domain = sys.argv[1:3]

    def answer(host: Any, *rest: Any, **named: Any) -> Any:
        is_below = isinstance(host, str) and host.endswith(f".{domain}")
        return _ask(address if is_below else host, *rest, **named)

    socket.getaddrinfo = answer
    from warcprox.main import main as warcprox  # type: ignore[import-not-found]

    warcprox(["warcprox", *sys.argv[3:]])


if __name__ == "__main__":
    main()
