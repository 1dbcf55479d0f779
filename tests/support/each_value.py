"""One test for many values, where the fixtures of a test cost more than the test itself."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def each_value(names: str | tuple[str, ...], values: Iterable[Any]) -> Callable[[Callable[..., None]], Any]:
    """Call the test for all values in turn, on the same fixtures. A failure names the values with which the test fails.

    The arguments are those of `pytest.mark.parametrize`. What the test does with one value must leave the outcome with
    the next one as it is.
    """
    arguments = (names,) if isinstance(names, str) else names
    rows = [(value,) if isinstance(names, str) else tuple(value) for value in values]

    def made(test: Callable[..., None]) -> Callable[..., None]:
        if not rows:
            raise ValueError(f"{test.__name__} has no values, so that it would test nothing")
        if inspect.iscoroutinefunction(test):
            raise TypeError(f"{test.__name__} is a coroutine, which nobody would wait for")

        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            for row in rows:
                try:
                    test(**fixtures, **dict(zip(arguments, row, strict=True)))
                except BaseException as error:
                    error.add_note(f"with {', '.join(map(_short, row))}")
                    raise

        signature = inspect.signature(test)
        kept = [each for name, each in signature.parameters.items() if name not in arguments]
        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return run

    return made


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 200 else f"{text[:200]}…"
