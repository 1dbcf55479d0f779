"""A crawler trap is tested before it is kept: the expression compiles, is not too large, and is fast. Pure.

Frontiers search every URL for every crawler trap, so one slow expression stops a crawl. Each expression is tried on
URLs that make bad expressions slow, built from its own letters, and on the URLs that its author gives.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Final

import regex

from admin.harvests.domains.names import shortened
from admin.models.errors import InvalidInput, Problem
from admin.models.operation import OutputModel

LONGEST_EXPRESSION: Final = 2_000
MOST_EXPRESSIONS: Final = 10_000
MOST_SAMPLES: Final = 100
LONGEST_SAMPLE: Final = 4_096
"""Characters; frontiers reject longer URLs as long as `max_url_length` has its default."""
SECONDS: Final = 0.1
"""The time that the search of one URL may take."""
TOTAL_SECONDS: Final = 30.0
"""The time that all tests of one upload may take."""
MOST_SLOW: Final = 20
LARGEST_REPEAT: Final = 20_000
"""How large an expression may become when its repeats are written out; a larger one takes gigabytes to compile."""
_TRIES: Final = 3
_HOSTILE_LENGTH: Final = 200
_HEAD: Final = "http://example.org/"
_LITERAL: Final = re.compile(r"[A-Za-z0-9/_.=&%-]")
_RUN: Final = re.compile(r"[A-Za-z0-9/_=&%-]{2,}")
_VERBOSE: Final = re.compile(r"\(\?[a-zA-Z-]*x")
_POSIX_CLASS: Final = re.compile(r"\[:\^?[a-z]+:\]")
_COUNT: Final = re.compile(r"\{(\d*)(?:(,)(\d*))?\}")


class TrapResult(OutputModel):
    """The output says what came of the test of one expression."""

    line: int
    """Counted from 1."""
    expression: str
    problem: str | None
    """Why the expression can't be used; None when it can."""
    matches: list[bool]
    """For each sample whether the expression is found in it; empty when the expression can't be used."""


def trap_lines(text: str) -> list[tuple[int, str]]:
    """Return the expressions of an upload with the numbers of their lines. Blank lines and those with # are left out.

    An expression that was there on an earlier line is left out too.
    """
    found: dict[str, int] = {}
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text.lstrip("\ufeff")), 1):
        if (expression := line.strip()) and not expression.startswith("#"):
            found.setdefault(expression, number)
    return [(number, expression) for expression, number in found.items()]


def run_trap_test(expressions: Sequence[tuple[int, str]], samples: Sequence[str] = ()) -> list[TrapResult]:
    """Return what came of the test of each expression, which are given with their line numbers.

    Raises InvalidInput when there are too many expressions or samples, or when many of them are slow.
    """
    _check_amounts(expressions, samples)
    deadline = time.monotonic() + TOTAL_SECONDS
    results: list[TrapResult] = []
    slow = 0
    for number, expression in expressions:
        if slow >= MOST_SLOW or time.monotonic() > deadline:
            results.append(_refused(number, expression, "it was not tested, since expressions before it took too long"))
            continue
        result, is_slow = _tested(number, expression, samples)
        slow += is_slow
        results.append(result)
    return results


def check_expressions(expressions: Sequence[tuple[int, str]], field: str) -> None:
    """Raise InvalidInput, with the line and the reason, for every expression that can't be used."""
    problems = [
        Problem(field, f"the expression {shortened(result.expression)} can't be used: {result.problem}", result.line)
        for result in run_trap_test(expressions)
        if result.problem is not None
    ]
    if problems:
        more = [Problem(field, f"{len(problems) - 100} more expressions can't be used")] if len(problems) > 100 else []
        raise InvalidInput(*problems[:100], *more)


def _check_amounts(expressions: Sequence[object], samples: Sequence[str]) -> None:
    problems = []
    if len(expressions) > MOST_EXPRESSIONS:
        problems.append(
            Problem("expressions", f"there are {len(expressions)} expressions; write at most {MOST_EXPRESSIONS} a list")
        )
    if len(samples) > MOST_SAMPLES:
        problems.append(Problem("samples", f"there are {len(samples)} sample URLs; write at most {MOST_SAMPLES}"))
    problems += [
        Problem("samples", f"the sample URL has {len(sample)} characters; write at most {LONGEST_SAMPLE}", number)
        for number, sample in enumerate(samples[:MOST_SAMPLES], 1)
        if len(sample) > LONGEST_SAMPLE
    ]
    if problems:
        raise InvalidInput(*problems)


def _tested(number: int, expression: str, samples: Sequence[str]) -> tuple[TrapResult, bool]:
    """Return the result, and whether the expression was slow."""
    try:
        pattern = _compiled(expression)
    except ValueError as error:
        return _refused(number, expression, str(error)), False
    matches: list[bool] = []
    for is_sample, url in [*((False, url) for url in _hostile(expression)), *((True, url) for url in samples)]:
        found = _found(pattern, url)
        if found is None:
            reason = (
                f"it takes longer than {SECONDS} s for a URL such as {shortened(url)}; avoid repeats inside of repeats,"
                " such as (a+)+, and several .* in a row"
            )
            return _refused(number, expression, reason), True
        if is_sample:
            matches.append(found)
    return TrapResult(line=number, expression=expression, problem=None, matches=matches), False


def _refused(number: int, expression: str, reason: str) -> TrapResult:
    return TrapResult(line=number, expression=expression, problem=reason, matches=[])


def _compiled(expression: str) -> Any:
    """Return the compiled expression. Raises ValueError with the reason."""
    if not expression:
        raise ValueError("it is empty, so it is found in every URL")
    if len(expression) > LONGEST_EXPRESSION:
        raise ValueError(f"it has {len(expression)} characters; write at most {LONGEST_EXPRESSION}")
    if "\0" in expression or "\n" in expression or "\r" in expression:
        raise ValueError("it has a line break or a NUL character; write it on one line")
    if _VERBOSE.search(expression):
        raise ValueError("it has the flag x; write the expression without spaces and without this flag")
    if (size := _written_out(expression)) > LARGEST_REPEAT:
        raise ValueError(
            f"its repeats multiply to {size:,}, more than {LARGEST_REPEAT:,}; write smaller numbers in {{}}"
        )
    if posix := _POSIX_CLASS.search(expression):
        raise ValueError(f"it has the class {posix[0]}, which is not known; write for instance [a-z] or \\d")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of sets that later releases may read otherwise
            re.compile(expression)  # frontiers use it by this library
        pattern = regex.compile(expression)
    except (re.error, regex.error, OverflowError) as error:
        raise ValueError(f"it is no regular expression: {error}") from None
    except (RecursionError, MemoryError):
        raise ValueError("it is nested too deeply; write it with fewer parentheses") from None
    if pattern.fullmatch("") or _found(pattern, "") is not False:
        raise ValueError("it is found in every URL, also in an empty one; nothing would be harvested")
    return pattern


def _found(pattern: Any, url: str) -> bool | None:
    """Return whether the pattern is found in the URL; None when the search takes too long.

    A search that was stopped is repeated when other work of the machine took the time.
    """
    for _ in range(_TRIES):
        before = time.thread_time()
        try:
            return pattern.search(url, timeout=SECONDS) is not None
        except TimeoutError:
            if time.thread_time() - before > SECONDS / 2:
                return None
    return None


def _hostile(expression: str) -> Iterator[str]:
    """Yield URLs on which a bad expression is slow: long repeats of its own letters and words, and a wrong end."""
    count = _HOSTILE_LENGTH
    for part in ("a", "/a/b", "x=1&", "1", "a1-_.", "/"):
        yield f"{_HEAD}{part * (count // len(part))}!"
    letters = "".join(dict.fromkeys(_LITERAL.findall(expression)))[:12]
    for letter in letters:
        yield f"{_HEAD}{letters}{letter * count}\x7f"
    for run in dict.fromkeys(_RUN.findall(expression)[:8]):
        yield f"{_HEAD}{run[:count] * (count // len(run[:count]) + 1)}!"


def _written_out(expression: str) -> int:
    """Return how many atoms the expression has when its counted repeats are written out."""
    sums, last, place = [0], 0, 0
    while place < len(expression):
        char = expression[place]
        if char == "(" and expression.startswith("(?#", place):
            place = _end(expression, ")", place)
            continue
        if char == "{" and (count := _COUNT.match(expression, place)) and count[0] != "{}":
            times = max(int((count[3] or count[1] or "1")[:9]), int((count[1] or "1")[:9]), 1)
            sums[-1] += last * (times - 1)
            last *= times
            place = count.end()
            continue
        if char == "(":
            sums.append(0)
        elif char == ")" and len(sums) > 1:
            last = max(sums.pop(), 1)
            sums[-1] += last
        elif char not in "*+?|^$":
            last = 1
            sums[-1] += 1
            place = _end_of_set(expression, place) if char == "[" else place + (char == "\\")
        place += 1
    return sum(sums)


def _end(expression: str, char: str, place: int) -> int:
    found = expression.find(char, place)
    return found + 1 if found >= 0 else len(expression)


def _end_of_set(expression: str, place: int) -> int:
    """Return where the set of characters that begins here ends: at its closing bracket."""
    place += 2 if expression.startswith("[^", place) else 1
    if expression.startswith("]", place):
        place += 1
    while place < len(expression) and expression[place] != "]":
        place += 2 if expression[place] == "\\" else 1
    return place
