"""An operation is a use case that people and programs can reach: it names a path, a right, and models of its data.

The REST API, the OpenAPI document, the matrix of routes and roles, and the commands are all made from the lists of
operations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Any, Final, Self

from pydantic import BaseModel, ConfigDict
from sqlalchemy import Select
from sqlalchemy.orm import InstrumentedAttribute

from admin.models.errors import InvalidInput, Problem
from admin.models.transaction import Right, Transaction

LONGEST_TEXT: Final = 10_000_000
"""Characters of any text of an input."""
MOST_ITEMS: Final = 500
_NUMBER: Final = re.compile(r"([0-9]{1,18})")
_PAIR: Final = re.compile(r"(-?[0-9]{1,18})-([0-9]{1,18})")


_BUILDING: Final = RLock()


class LazyModel(BaseModel):
    """A lazy model builds its validator when a first value is checked, so that no start pays for unused models.

    `admin.models.field_descriptions` reads the docstrings below its fields.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    @classmethod
    def model_rebuild(
        cls,
        *,
        force: bool = False,
        raise_errors: bool = True,
        _parent_namespace_depth: int = 2,
        _types_namespace: Any = None,
    ) -> bool | None:
        """Build the validator, one thread after another: pydantic's own function is not safe with threads."""
        with _BUILDING:
            return super().model_rebuild(
                force=force,
                raise_errors=raise_errors,
                _parent_namespace_depth=_parent_namespace_depth + 1,
                _types_namespace=_types_namespace,
            )


class InputModel(LazyModel):
    """Input of a use case: unknown fields are refused, and nothing changes after it was checked."""

    model_config = ConfigDict(extra="forbid", str_max_length=LONGEST_TEXT)


class OutputModel(LazyModel):
    """Output of a use case, made from rows of the database or from other values."""

    model_config = ConfigDict(from_attributes=True)

    @classmethod
    def of_rows(cls, rows: Sequence[Any]) -> list[Self]:
        """Return an output for each row."""
        return [cls.model_validate(row) for row in rows]


class Page[T](OutputModel):
    """One page of a list. `next` is what to give as `after` to get the next page; None at the end."""

    items: list[T]
    next: str | None = None
    total: int | None = None
    """How many there are in all; None when nobody counted, because there are more than 10,000."""


def checked_limit(limit: int, most: int = MOST_ITEMS) -> int:
    """Return how many items a page has. Raises InvalidInput."""
    if not 1 <= limit <= most:
        raise InvalidInput(Problem("limit", f"{limit} is no number of items; use 1 to {most:,}"))
    return limit


def number_after(after: str) -> int:
    """Return the number that ends a page of a list which is in the order of numbers. Raises InvalidInput."""
    return _places(_NUMBER, after)[0]


def pair_after(after: str) -> tuple[int, int]:
    """Return the two numbers that end a page of a list which is in the order of both. Raises InvalidInput."""
    first, second = _places(_PAIR, after)
    return first, second


def _places(form: re.Pattern[str], after: str) -> list[int]:
    if (found := form.fullmatch(after)) is None:
        raise InvalidInput(Problem("after", f"{after[:40]!r} is no place in this list; use the `next` of a page"))
    return [int(each) for each in found.groups()]


def numbered_page[Row, View](
    transaction: Transaction,
    query: Select[Any],
    number: InstrumentedAttribute[int],
    views: Callable[[Sequence[Row]], list[View]],
    *,
    after: str | None,
    limit: int,
    most: int = MOST_ITEMS,
    newest_first: bool = False,
) -> Page[View]:
    """Return a page of a list which is in the order of the column `number`. Raises InvalidInput.

    `views` makes the items of the page's rows.
    """
    size = checked_limit(limit, most)
    if after is not None:
        last = number_after(after)
        query = query.where(number < last if newest_first else number > last)
    order = number.desc() if newest_first else number
    rows = transaction.session.scalars(query.order_by(order).limit(size + 1)).all()
    following = str(getattr(rows[size - 1], number.key)) if len(rows) > size else None
    return Page(items=views(rows[:size]), next=following)


@dataclass(frozen=True, slots=True)
class Operation:
    """One use case with its place in the API.

    `use_case` is called with a Transaction, then the path's parameters and the query's as keywords, then the body as
    `given` when there is an `input` model. It returns an `output` model, a `Page` of these, or None.
    """

    name: str
    """Such as domain.create; unique, and the audit's `action`."""
    method: str
    path: str
    """Below /api/v1, with parameters in braces: /domains/{name}."""
    right: Right
    use_case: Callable[..., Any]
    summary: str
    """One imperative sentence."""
    input: type[BaseModel] | None = None
    output: type[BaseModel] | None = None
    is_list: bool = False
    """The output is a `Page` of `output`."""
    takes_lines: bool = False
    """The use case has an argument `lines`: an upload, as an iterator of lines in bytes."""
    takes_file: bool = False
    """The use case has an argument `upload`: the path of a file with the request's body, of at most
    admin.upload_max_bytes. The file is removed when the use case has ended."""
    media_type: str = "application/json"
    """The type of the output; another type than JSON is for downloads, and the use case returns bytes, or a file's
    path."""
    status: int = 200
    tags: tuple[str, ...] = ()
    in_parts: Callable[..., Any] | None = None
    """Does the same as `use_case` for long inputs. It is called with the Database and the Actor in place of a
    Transaction, and opens a transaction for each part of the input, so that no writer waits long.
    """

    def __call__(self, transaction: Transaction, /, **arguments: Any) -> Any:
        """Check the right, and carry the use case out. Raises UseCaseError."""
        transaction.require(self.right)
        return self.use_case(transaction, **arguments)
