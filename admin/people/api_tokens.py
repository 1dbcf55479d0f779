"""A token lets a program use the API as its user, with at most the token's role. The database has its SHA-256 alone."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field
from sqlalchemy import select

from admin.models.errors import Forbidden, InvalidInput, NotFound, Problem, UseCaseError
from admin.models.operation import InputModel, OutputModel, Page
from admin.models.people_tables import ApiToken, Role
from admin.models.transaction import RIGHTS, Actor, Door, Right, Transaction
from admin.people import fields
from admin.people.secret_tokens import new_token, token_hash
from admin.people.sessions import SECOND, own_id
from admin.people.users import find_user
from archive.dates import Micros

PREFIX: Final = "gf_"
"""Tokens begin so, so that tools that look for leaked secrets find them."""
MOST_TOKENS: Final = 100
"""Of one user."""
_DAY: Final = 86_400 * SECOND
_USED_EVERY: Final = 60 * SECOND


class NewApiToken(InputModel):
    """A program gets a token with these properties."""

    name: str
    role: Role | None = None
    """None is the user's own role."""
    days: Annotated[int, Field(ge=1, le=3650)] | None = 365
    """How long the token works; None is for ever."""


class ApiTokenView(OutputModel):
    """An API token view shows a token to its user and to administrators."""

    """The user of a token and administrators see this of the token."""

    id: int
    name: str
    role: Role
    created: Micros
    expires: Micros | None
    used: Micros | None


class ApiTokenMade(ApiTokenView):
    """The text of a new token is shown now and never again."""

    token: str


def create_token(transaction: Transaction, given: NewApiToken) -> ApiTokenMade:
    """Make a token for the actor. Its role is at most the actor's.

    A token can't make another one, which would work after its own end. Raises Forbidden, InvalidInput and UseCaseError.
    """
    if transaction.actor.door is Door.API:
        raise Forbidden("a token can't make another token; make one at the site or by a command")
    user_id = own_id(transaction)
    checks = fields.FieldChecks()
    name = checks.checked("name", fields.label, given.name)
    role = given.role or transaction.actor.role
    if lesser(role, transaction.actor.role) != role:
        checks.problems.append(
            Problem("role", f"a token of {transaction.actor.name} can't be {role}; choose {transaction.actor.role}")
        )
    checks.done()
    held = transaction.session.scalars(select(ApiToken).where(ApiToken.user_id == user_id)).all()
    if any(each.name == name for each in held):
        raise InvalidInput(Problem("name", f"you have a token {name!r} already; choose another name"))
    if len(held) >= MOST_TOKENS:
        raise UseCaseError(f"you have {MOST_TOKENS} tokens; revoke one before you make another")
    text = new_token(PREFIX)
    row = ApiToken(
        token_hash=token_hash(text),
        user_id=user_id,
        name=name,
        role=role,
        created=transaction.now,
        expires=None if given.days is None else transaction.now + given.days * _DAY,
    )
    transaction.session.add(row)
    transaction.session.flush()
    transaction.audit(
        "token.create", "token", row.id, row.name, new={"name": name, "role": role, "expires": row.expires}
    )
    return ApiTokenMade(**_view(row).model_dump(), token=text)


def list_tokens(transaction: Transaction) -> Page[ApiTokenView]:
    """Return the actor's own tokens."""
    return _page(transaction, own_id(transaction))


def revoke_token(transaction: Transaction, id: int) -> None:
    """Remove one of the actor's own tokens."""
    _revoke(transaction, own_id(transaction), id)


def list_user_tokens(transaction: Transaction, name: str) -> Page[ApiTokenView]:
    """Return the tokens of a user."""
    transaction.require(Right.ADMINISTER)
    return _page(transaction, find_user(transaction, name).id)


def revoke_user_token(transaction: Transaction, name: str, id: int) -> None:
    """Remove a token of a user."""
    transaction.require(Right.ADMINISTER)
    _revoke(transaction, find_user(transaction, name).id, id)


def token_actor(transaction: Transaction, token: str, address: str = "") -> Actor | None:
    """Return who uses the API with this token; None when the token is unknown, has expired, or its user is not active.

    The role is the token's, or the user's when that has become less.
    """
    if not token.startswith(PREFIX):
        return None
    row = transaction.session.scalars(select(ApiToken).where(ApiToken.token_hash == token_hash(token))).one_or_none()
    if row is None or not row.user.is_active or (row.expires is not None and row.expires <= transaction.now):
        return None
    if row.used is None or transaction.now - row.used >= _USED_EVERY:
        row.used = transaction.now
    role = lesser(Role(row.role), Role(row.user.role))
    return Actor(row.user.name, role, Door.API, address, row.user_id)


def lesser(first: Role, second: Role) -> Role:
    """Return the role of the two that has fewer rights."""
    return first if RIGHTS[first] <= RIGHTS[second] else second


def _page(transaction: Transaction, user_id: int) -> Page[ApiTokenView]:
    rows = transaction.session.scalars(select(ApiToken).where(ApiToken.user_id == user_id).order_by(ApiToken.id))
    return Page(items=[_view(row) for row in rows])


def _view(row: ApiToken) -> ApiTokenView:
    return ApiTokenView.model_validate(row)


def _revoke(transaction: Transaction, user_id: int, id: int) -> None:
    row = transaction.session.scalars(
        select(ApiToken).where(ApiToken.user_id == user_id, ApiToken.id == id)
    ).one_or_none() if 0 < id < 2**63 else None  # fmt: skip
    if row is None:
        raise NotFound("token", id)
    transaction.session.delete(row)
    transaction.audit("token.revoke", "token", id, row.name, old={"name": row.name, "role": row.role})
