"""A command reaches the use cases by one of two doors: the database of the home, or the REST API of a server."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Protocol
from urllib.parse import quote

from pydantic import BaseModel, TypeAdapter

from admin.fleet.site_address import site_url
from admin.models.errors import DatabaseRefused, InvalidInput, UseCaseError
from admin.models.operation import Operation, Page
from admin.models.transaction import COMMAND_LINE, Actor, Door
from admin.options import CommandRefused, InputError
from archive.names.characters import printable
from archive.settings.load import Settings

PREFIX: Final = "/api/v1"
_SECONDS: Final = 300
_IN_PATH: Final = re.compile(r"\{(\w+)\}")


class Caller(Protocol):
    """The caller carries operations out."""

    where: str
    """The address of the site."""

    def __call__(self, operation: Operation, parameters: Mapping[str, Any], body: BaseModel | None, /) -> Any:
        """Carry an operation out and return its output. Raises InputError."""

    def close(self) -> None:
        """Close the connections."""


class LocalCaller:
    """The caller works on the database of the home, as the command line or, for own things, for a user."""

    def __init__(self, settings: Settings, user: str = "") -> None:
        """Open the database. Raises InputError."""
        from admin.harvests.stock import prepare
        from admin.models.database import open_database

        with explained():
            self.database = open_database(settings)
            prepare(self.database)
        self.where = site_url(settings)
        self.actor = self._acting_for(user) if user else COMMAND_LINE

    def __call__(self, operation: Operation, parameters: Mapping[str, Any], body: BaseModel | None, /) -> Any:
        """Carry an operation out in a transaction of its own. Raises InputError."""
        given = {} if body is None else {"given": body}
        if operation.in_parts is not None:
            with explained():
                return operation.in_parts(self.database, self.actor, **parameters, **given)
        opened = self.database.reading if operation.method == "GET" else self.database.transaction
        with explained(), opened(self.actor) as transaction:
            return operation(transaction, **parameters, **given)

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def _acting_for(self, name: str) -> Actor:
        """Return the command line with the rights of a user. Raises Refused for an unknown one."""
        from admin.models.people_tables import Role
        from admin.people.users import find_user

        with explained(), self.database.reading(COMMAND_LINE) as transaction:
            user = find_user(transaction, name)
            return Actor(f"command line for {user.name}"[:200], Role(user.role), Door.COMMAND, user_id=user.id)


class RemoteCaller:
    """The caller sends operations to the REST API of a server, with an API token."""

    def __init__(self, server: str, token: str) -> None:
        """Take the address of the site. Raises InputError."""
        import httpx

        if not token:
            raise InputError("--server needs an API token; put it into the environment as GHOSTFLEET_TOKEN")
        try:
            url = httpx.URL(server)
        except httpx.InvalidURL as error:
            raise InputError(f"--server {server[:100]!r} is no address: {error}") from error
        if url.scheme not in ("http", "https") or not url.host:
            raise InputError(f"--server {server[:100]!r} is no address; write http://127.0.0.1:8080")
        self.where = str(url).rstrip("/")
        self._client = httpx.Client(timeout=_SECONDS, headers={"Authorization": f"Bearer {token}"})

    def __call__(self, operation: Operation, parameters: Mapping[str, Any], body: BaseModel | None, /) -> Any:
        """Send an operation and return its output. Raises InputError."""
        import httpx

        inside = _IN_PATH.findall(operation.path)
        path = _IN_PATH.sub(lambda found: quote(str(parameters[found[1]]), safe=""), operation.path)
        query = {name: _plain(value) for name, value in parameters.items() if name not in inside and value is not None}
        sent: dict[str, Any] = {"json": _revealed(body)} if body is not None else {}
        if operation.method != "GET":
            sent["headers"] = {"If-Match": "*"}  # without an edition, whatever is there is changed
        try:
            answer = self._client.request(operation.method, self.where + PREFIX + path, params=query, **sent)
        except httpx.HTTPError as error:
            raise CommandRefused(f"{self.where} can't be reached: {str(error) or type(error).__name__}") from error
        if not answer.is_success:
            raise _refusal(answer, self.where)
        if operation.media_type != "application/json":
            return answer.content
        return None if not answer.content or operation.output is None else _output(operation, answer.content)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


@contextmanager
def explained() -> Iterator[None]:
    """Turn errors of use cases into one line: exit code 2 for bad input, 1 for what is not there or not possible."""
    try:
        yield
    except (InvalidInput, DatabaseRefused) as error:
        raise InputError(printable(str(error), " ")) from error
    except UseCaseError as error:
        raise CommandRefused(printable(str(error), " ")) from error


def needs_user(operation: Operation) -> bool:
    """Return whether the operation is about things of the user who acts."""
    return operation.path.startswith("/profile") or operation.name == "message.list"


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _revealed(body: BaseModel) -> dict[str, Any]:
    """Return the fields that were given, with secrets in clear: the server must get them."""
    import json

    from pydantic import SecretStr

    shown = json.loads(body.model_dump_json(exclude_unset=True))
    for name in body.model_fields_set:
        value = getattr(body, name)
        if isinstance(value, SecretStr):
            shown[name] = value.get_secret_value()
    return dict(shown)


def _output(operation: Operation, content: bytes) -> Any:
    from pydantic import ValidationError

    assert operation.output is not None
    kind: Any = operation.output
    if operation.is_list:
        kind = Page[operation.output]  # type: ignore[name-defined]
    elif content.lstrip().startswith(b"["):
        kind = list[operation.output]  # type: ignore[name-defined]
    try:
        return TypeAdapter(kind).validate_json(content)
    except ValidationError as error:
        raise CommandRefused(
            "the server's answer can't be read; its version may differ from this program's, so install the same one"
        ) from error


def _refusal(answer: Any, where: str) -> InputError:
    try:
        detail = str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = f"{where} answered {answer.status_code}; is this the address of an admin site?"
    return (InputError if answer.status_code in (400, 413, 422) else CommandRefused)(printable(detail, " "))
