"""brozzler's own Python runs this program: it visits pages with brozzler's browser when the bench asks for them.

One line goes to the bench after the warm-up. A line from the bench starts the visits. A line of JSON then has the
number of failed visits. SIGTERM ends the browser and the program. The bench has no module named brozzler, and this
program imports no module of the bench.
"""

from __future__ import annotations

import json
import logging
import signal
import sys
from typing import Any


def main() -> None:
    """Visit the pages that the first argument, a JSON object, names."""
    import brozzler.browser  # type: ignore[import-not-found]
    import structlog  # type: ignore[import-not-found]

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    wanted = json.loads(sys.argv[1])
    browser = brozzler.browser.Browser(
        chrome_exe=wanted["executable"], port=wanted["debugging_port"], ignore_cert_errors=True
    )
    browser.start(proxy=wanted["proxy"])
    try:
        for url in wanted["warm_up"]:
            _is_failed(browser, url)
        print("ready", flush=True)
        sys.stdin.readline()
        failed = sum(_is_failed(browser, url) for url in wanted["urls"])
        print(json.dumps({"failed": failed}), flush=True)
        sys.stdin.readline()
    finally:
        browser.stop()


def _is_failed(browser: Any, url: str) -> bool:
    """Visit a page as brozzler does by default, with its picture, behaviours and links."""
    codes: list[int] = []

    def note(message: dict[str, Any]) -> None:
        answer = message["params"]["response"]
        if answer["url"] == url:
            codes.append(answer["status"])

    try:
        browser.browse_page(url, on_response=note, on_screenshot=lambda *_, **__: None, skip_youtube_dl=True)
    except Exception as error:
        print(f"{url}: {error!r}", file=sys.stderr)
        return True
    return codes[:1] != [200]


if __name__ == "__main__":
    main()
