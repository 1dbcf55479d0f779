"""The libraries of the extra `urlfrontier`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

_MISSING: Final = (
    "the service needs grpcio and protobuf, which are not installed; install the extra: "
    "pip install 'ghostfleet[urlfrontier]'"
)


class GrpcMissing(Exception):
    """The library grpcio or protobuf is not installed. The message has the remedy."""


def require_grpc() -> None:
    """Raise GrpcMissing when grpcio or protobuf is not installed."""
    if find_spec("grpc") is None or find_spec("google.protobuf") is None:
        raise GrpcMissing(_MISSING)
