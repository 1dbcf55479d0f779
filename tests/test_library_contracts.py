"""Private and undocumented names of libraries that we use are what they were when we wrote the code.

After an upgrade of a library these tests fail first. Each message names the installed version and the module of ours to
look at. When that module fits the new version, change the row here.
"""

from __future__ import annotations

import inspect
import ssl
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module, metadata
from operator import attrgetter
from typing import Any, Final

import hiredis
import pytest
import redis
from h2.config import H2Configuration
from h2.connection import H2Connection

from archive.json_text import ascii_json

ADAPTER: Final = "proxy/protocol/mitmproxy_adapter.py"
LAYERS: Final = "proxy/clients/http1_layer.py and http2_layer.py"
SCRIPTED: Final = "proxy/scripting/scripted.py and flow_translation.py"
CERTIFICATES: Final = "proxy/process/leaf_certificates.py"
HTTP2: Final = "proxy/protocol/http2.py"
REDIS: Final = "dedupdb/redis_io/server_wire.py"
SERVING: Final = "admin/serving/connections.py"
UVICORN: Final = "uvicorn.protocols.http.h11_impl:H11Protocol"
HTTP: Final = "mitmproxy.proxy.layers.http"


@dataclass(frozen=True)
class Contract:
    """A name of a library as `module:Class.member`, and what our `user` takes for granted about it."""

    library: str
    path: str
    kind: str
    parameters: str | None
    user: str

    def __str__(self) -> str:
        return self.path


def function(library: str, path: str, parameters: str, user: str) -> Contract:
    return Contract(library, path, "function", parameters, user)


def generator(library: str, path: str, parameters: str, user: str) -> Contract:
    return Contract(library, path, "generator", parameters, user)


def class_(library: str, path: str, parameters: str, user: str) -> Contract:
    return Contract(library, path, "class", parameters, user)


def attribute(library: str, path: str, kind: type, user: str) -> Contract:
    return Contract(library, path, kind.__name__, None, user)


CONTRACTS: Final = [
    generator("mitmproxy", "mitmproxy.addonmanager:AddonManager._iter_hooks", "self, addon, event", ADAPTER),
    generator("mitmproxy", "mitmproxy.proxy.layer:Layer.handle_event", "self, event", LAYERS),
    generator("mitmproxy", "mitmproxy.proxy.layer:Layer._handle_event", "self, event", LAYERS),
    class_("mitmproxy", f"{HTTP}._events:RequestHeaders", "stream_id, request, end_stream, replay_flow", SCRIPTED),
    class_("mitmproxy", f"{HTTP}._events:RequestData", "stream_id, data", SCRIPTED),
    class_("mitmproxy", f"{HTTP}._events:RequestTrailers", "stream_id, trailers", SCRIPTED),
    class_("mitmproxy", f"{HTTP}._events:RequestEndOfMessage", "stream_id", SCRIPTED),
    class_("mitmproxy", f"{HTTP}._events:RequestProtocolError", "stream_id, message, code", SCRIPTED),
    class_("mitmproxy", f"{HTTP}._events:ResponseHeaders", "stream_id, response, end_stream", SCRIPTED),
    class_("mitmproxy", f"{HTTP}._events:ResponseData", "stream_id, data", SCRIPTED),
    class_("mitmproxy", f"{HTTP}._events:ResponseTrailers", "stream_id, trailers", SCRIPTED),
    class_("mitmproxy", f"{HTTP}._events:ResponseEndOfMessage", "stream_id", SCRIPTED),
    class_("mitmproxy", f"{HTTP}._events:ResponseProtocolError", "stream_id, message, code", SCRIPTED),
    attribute("mitmproxy", f"{HTTP}._events:ErrorCode.CLIENT_DISCONNECTED.value", int, SCRIPTED),
    attribute("mitmproxy", f"{HTTP}._events:ErrorCode.GENERIC_SERVER_ERROR.value", int, SCRIPTED),
    attribute("mitmproxy", f"{HTTP}._events:ErrorCode.KILL.value", int, SCRIPTED),
    class_("mitmproxy", f"{HTTP}._base:HttpEvent", "stream_id", SCRIPTED),
    class_("mitmproxy", f"{HTTP}._hooks:HttpResponseHeadersHook", "flow", SCRIPTED),
    class_("mitmproxy", f"{HTTP}:HttpStream", "context, stream_id", SCRIPTED),
    attribute("mitmproxy", f"{HTTP}:HttpStream.mode", cached_property, SCRIPTED),
    class_("mitmproxy", f"{HTTP}:SendHttp", "event, connection", SCRIPTED),
    class_("mitmproxy", f"{HTTP}:GetHttpConnection", "address, tls, via, transport_protocol", SCRIPTED),
    class_("mitmproxy", f"{HTTP}:GetHttpConnectionCompleted", "command, reply", SCRIPTED),
    class_("mitmproxy", f"{HTTP}._http_h2:BufferedH2Connection", "config", HTTP2),
    class_("mitmproxy", f"{HTTP}._http_h2:SendH2Data", "data, end_stream", HTTP2),
    function("mitmproxy", f"{HTTP}._http_h2:BufferedH2Connection.send_trailers", "self, stream_id, trailers", HTTP2),
    class_(
        "mitmproxy",
        "mitmproxy.certs:CertStore",
        "default_privatekey, default_ca, default_chain_file, default_crl, dhparams",
        CERTIFICATES,
    ),
    function(
        "mitmproxy",
        "mitmproxy.certs:CertStore.get_cert",
        "self, commonname, sans, organization, crl_url",
        CERTIFICATES,
    ),
    function("mitmproxy", "mitmproxy.certs:CertStore.expire", "self, entry", CERTIFICATES),
    attribute("mitmproxy", "mitmproxy.certs:CertStore.STORE_CAP", int, CERTIFICATES),
    class_("mitmproxy", "mitmproxy.certs:CertStoreEntry", "cert, privatekey, chain_file, chain_certs", CERTIFICATES),
    # By way of the adapter, since an import of `mitmproxy.addons` imports all addons.
    function("mitmproxy", "proxy.protocol.mitmproxy_adapter:TlsConfig.configure", "self, updated", CERTIFICATES),
    function("h2", "h2.connection:H2Connection._begin_new_stream", "self, stream_id, allowed_ids", HTTP2),
    function("h2", "h2.connection:H2Connection._receive_goaway_frame", "self, frame", HTTP2),
    function("h2", "h2.stream:H2Stream._track_content_length", "self, length, end_stream", HTTP2),
    function("uvicorn", f"{UVICORN}.connection_made", "self, transport", SERVING),
    function("uvicorn", f"{UVICORN}.data_received", "self, data", SERVING),
    function("uvicorn", f"{UVICORN}.on_response_complete", "self", SERVING),
    function("uvicorn", f"{UVICORN}.pause_writing", "self", SERVING),
    function("uvicorn", f"{UVICORN}.resume_writing", "self", SERVING),
    function("redis", "redis:Connection.send_packed_command", "self, command, check_health", REDIS),
    function(
        "redis",
        "redis:Connection.read_response",
        "self, disable_decoding, timeout, disconnect_on_error, push_request",
        REDIS,
    ),
    function("redis", "redis:ConnectionPool.get_connection", "self, command_name, keys, options", REDIS),
    function("redis", "redis.retry:Retry.call_with_retry", "self, do, fail, is_retryable, with_failure_count", REDIS),
    Contract("hiredis", "hiredis:pack_command", "builtin", None, REDIS),
]


def installed(library: str) -> str:
    """The library's name and version, as messages have it."""
    if library == "Python":
        return f"Python {sys.version.split()[0]}"
    return f"{library} {metadata.version(library)}"


def kind_of(found: Any) -> str:
    if inspect.isclass(found):
        return "class"
    if inspect.isgeneratorfunction(found):
        return "generator"
    if inspect.isbuiltin(found):
        return "builtin"
    return "function" if inspect.isfunction(found) else type(found).__name__


@pytest.mark.parametrize("contract", CONTRACTS, ids=str)
def test_a_private_name_is_as_we_know_it(contract: Contract) -> None:
    where = f"{installed(contract.library)}: {contract.path}"
    look = f"look at {contract.user}"
    module, _, name = contract.path.partition(":")

    try:
        found = attrgetter(name)(import_module(module))
    except (ImportError, AttributeError) as error:
        pytest.fail(f"{where} is not there ({error}); {look}", pytrace=False)

    assert kind_of(found) == contract.kind, f"{where} is of another kind; {look}"
    if contract.parameters is not None:
        assert ", ".join(inspect.signature(found).parameters) == contract.parameters, (
            f"{where} takes other parameters; {look}"
        )


def test_h2_keeps_bytes_that_are_no_whole_frame() -> None:
    connection = H2Connection(H2Configuration(client_side=True))
    where = f"{installed('h2')}: H2Connection.incoming_buffer._data; look at {HTTP2}"

    connection.receive_data(b"\x00\x00\x01\x06")

    assert bytes(getattr(connection.incoming_buffer, "_data", b"")) == b"\x00\x00\x01\x06", where


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the method is public from Python 3.13 on")
def test_a_tls_connection_has_the_chain_on_its_inner_object() -> None:
    outer = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="a.example")
    where = f"{installed('Python')}: SSLObject._sslobj.get_unverified_chain; look at proxy/origins/tls.py"

    assert not hasattr(outer, "get_unverified_chain"), where
    assert callable(getattr(getattr(outer, "_sslobj", None), "get_unverified_chain", None)), where


def test_a_redis_client_has_a_parser_for_each_reply_that_needs_one() -> None:
    with redis.Redis() as client:
        where = f"{installed('redis')}: Redis.response_callbacks; look at {REDIS}"
        parsers = getattr(client, "response_callbacks", None)

    assert isinstance(parsers, Mapping), where
    assert parsers["SET"](b"OK") is True, where
    assert "CLUSTER" not in parsers, where


def test_a_redis_connection_has_its_retries() -> None:
    connection = redis.Connection()

    assert hasattr(connection.retry, "call_with_retry"), f"{installed('redis')}: Connection.retry; look at {REDIS}"


def test_hiredis_packs_bytes_texts_and_numbers() -> None:
    packed = hiredis.pack_command((b"GET", "é", 10))  # type: ignore[arg-type]

    assert packed == b"*3\r\n$3\r\nGET\r\n$2\r\n\xc3\xa9\r\n$2\r\n10\r\n", f"{installed('hiredis')}; look at {REDIS}"


def test_a_json_string_is_ascii() -> None:
    where = f"{installed('Python')}: json.encoder.encode_basestring_ascii; look at archive/json_text.py"

    assert ascii_json('é"\n😀') == '"\\u00e9\\"\\n\\ud83d\\ude00"', where
