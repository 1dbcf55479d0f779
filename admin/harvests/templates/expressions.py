"""Patterns are tried on hostile addresses before they are kept: one that takes long on these would stop a crawl.

A crawl searches simple patterns by `re`, which knows no time limit, and passes over others that take too long
(`frontier.definition.rules.url_patterns`). A child process tries all of them with `re`, and the system ends the child
when a pattern has used up its CPU time.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Final

MOST_PATTERNS: Final = 1_000
"""In one list of a template; a longer list belongs into a list of crawler traps."""
CPU_SECONDS: Final = 0.2
"""One pattern may take so long on all samples together; a harmless one takes less than a tenth of it."""
ALL_CPU_SECONDS: Final = 3.0
"""The patterns of one list may take so long together: a crawl tries them all on each link."""
_MOST_SLOW: Final = 5
_PATIENCE_SECONDS: Final = 300.0
_HOST: Final = "http://www.example.org/"
_SAMPLES: Final = (
    _HOST + "a" * 1_000 + "!",
    _HOST + "a/" * 500 + "!",
    _HOST + "aB1." * 250 + "!",
    _HOST + "1" * 1_000 + "!",
    _HOST + "-_" * 500 + "!",
    _HOST + "?" + "a=1&" * 250 + "!",
    _HOST + "/" * 1_000 + "!",
    _HOST + "%20" * 350 + "!",
    "a" * 1_000,
    "http://" + "a." * 500 + "!",
)
"""Addresses on which patterns with nested repeats try exponentially many ways."""
_CHILD: Final = """
import json, re, signal, sys, time
given = json.load(sys.stdin)
for index in range(given["first"], len(given["patterns"])):
    signal.setitimer(signal.ITIMER_VIRTUAL, given["seconds"])
    try:
        pattern = re.compile(given["patterns"][index])
        for sample in given["samples"]:
            pattern.search(sample)
    except (re.error, RecursionError, OverflowError):
        pass
    print(index, flush=True)
    if time.process_time() > given["all_seconds"]:
        print("enough", flush=True)
        break
"""


def slow_patterns(patterns: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the index of each pattern that takes too long, with the reason and the remedy.

    The time is bounded: after five slow patterns, or when all together take too long, the others are not tried.
    """
    first = 0
    for _ in range(_MOST_SLOW):
        if first >= len(patterns):
            return
        tried, is_enough = _tried(patterns, first)
        if is_enough:
            yield (
                tried - 1,
                f"the patterns up to this one take more than {ALL_CPU_SECONDS:g} seconds on {len(_SAMPLES)} addresses,"
                " and a crawl tries all patterns on each link; remove some, and leave .* out at their beginning",
            )
            return
        if tried == len(patterns):
            return
        shown = repr(patterns[tried] if len(patterns[tried]) <= 200 else patterns[tried][:200] + "…")
        yield (
            tried,
            f"{shown} takes too long on hostile addresses such as {_HOST}aaaa…!;"
            " remove a repeat within a repeat, such as (a+)+ or (.*)*",
        )
        first = tried + 1


def _tried(patterns: Sequence[str], first: int) -> tuple[int, bool]:
    """Return the index of the first pattern that did not come to an end, and whether all took too long together."""
    given = {
        "patterns": list(patterns),
        "first": first,
        "seconds": CPU_SECONDS,
        "all_seconds": ALL_CPU_SECONDS,
        "samples": _SAMPLES,
    }
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        try:
            printed, _ = child.communicate(json.dumps(given), timeout=_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            printed, _ = child.communicate()
    done = [int(word) for word in printed.split() if word != "enough"]
    return (done[-1] + 1 if done else first), "enough" in printed
