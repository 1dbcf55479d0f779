"""The section `[proxy]` controls the recording proxies. Its settings are many, so they stand in groups.

A group is a base class of `ProxySettings`. All groups share the one section: a key is `proxy.KEY` in any of them.
"""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Final, Literal, get_args

from pydantic import Field, field_validator

from archive.names.name_rules import NAME_PATTERN
from archive.settings.values.base import Listed, Networks, Section

type Deliver = Literal["durable", "written", "at_once"]
type Mode = Literal["record", "replay", "patch", "live"]
"""`patch` answers from the archive first and records what is missing there; `live` relays and keeps nothing."""
type TrustedClients = Literal["loopback", "all", "none"]
MODES: Final[tuple[str, ...]] = get_args(Mode.__value__)
LONGEST_DELAY_SECONDS: Final = 3600.0
"""Longest pause between two requests to one host that may be set."""


class _Listeners(Section):
    """These settings control the ports, and the clients that may use them."""

    heading: ClassVar[str] = "Ports and clients"

    host: str = Field(
        "127.0.0.1",
        description="Address to listen on. An address that a network reaches needs proxy.password or"
        " proxy.allow_clients.",
    )
    port: int = Field(8000, ge=0, le=65535, description="Main port of the fleet. 0 picks a free port.")
    control_port: int = Field(0, ge=0, le=65535, description="Control port of the first process. 0 picks a free port.")
    session_ports: str = Field(
        "",
        description="Ports for sessions, as FIRST-LAST. By default any free port is taken.",
    )
    allow_clients: Networks = Field(
        (),
        description="Networks whose clients may connect to the main port, comma separated, such as 10.20.0.0/16."
        " Clients on this machine always may. By default every client may.",
    )
    host_names: Listed[str] = Field(
        (),
        description="Further names of the main and control ports in the Host header of requests for /status, /metrics"
        " and the like, comma separated. Their addresses and localhost always work.",
    )
    trust_clients: TrustedClients = Field(
        "loopback",
        description="Clients whose commands (header Warcprox-Meta) the main port obeys without a password: loopback,"
        " all or none.",
    )
    password: str = Field(
        "", description="Password of the main port (Basic authentication, any user name). By default none is needed."
    )
    http2: bool = Field(
        False,
        description="Offer HTTP/2 to clients within CONNECT. It saves handshakes and costs more CPU for each exchange.",
    )
    request_seconds: float = Field(
        60,
        gt=0,
        description="Longest time in which a client must send the head of a request, or end its TLS handshake.",
    )

    @field_validator("session_ports")
    @classmethod
    def _ports_can_be_read(cls, ports: str) -> str:
        if ports and not re.fullmatch(r"[1-9]\d{0,4}-[1-9]\d{0,4}", ports):
            raise ValueError("write the first and the last port, such as 9000-9099")
        return ports


class _DefaultTraffic(Section):
    """These settings control requests that belong to no session."""

    heading: ClassVar[str] = "Traffic without a session"

    collection: str = Field("default", pattern=NAME_PATTERN, description="Collection of traffic without a session.")
    mode: Mode = Field(
        "record", description="Mode of traffic without a session: record, replay, patch (replay, then record) or live."
    )
    prefix: str = Field(
        "",
        pattern=f"^-?$|{NAME_PATTERN}",
        description="Prefix of WARC file names for traffic without a session. `-` archives none of it.",
    )
    log_dir: str = Field(
        "",
        description="Folder for crawl logs of traffic without a session, named as warcprox names them"
        " (PREFIX-HOST-PORT.log or crawl-HOST-PORT.log). By default none is written.",
    )
    methods: str = Field("", description="Request methods that are archived, comma separated. By default all are.")


class _Records(Section):
    """These settings control which records are written, and when clients see the end of a response."""

    heading: ClassVar[str] = "Records"

    deliver: Deliver = Field(
        "durable",
        description="When a client gets the end of a response: durable, after its record is safe on the disk; written,"
        " after the record was handed to the operating system; at_once, without waiting for the record.",
    )
    record_provenance: bool = Field(
        True,
        description="Write DNS answers (dns:NAME) and certificate chains (urn:certificates:HOST:PORT) as records.",
    )
    record_resolve: bool = Field(
        False, description="Write dns: records also for names whose address comes from proxy.resolve."
    )
    whole_ranges: bool = Field(
        False,
        description="Fetch and keep the whole resource when a Range begins at 0. The client still gets its part as"
        " 206.",
    )
    max_body_bytes: int = Field(
        0, ge=0, description="Largest body that is kept; longer ones get WARC-Truncated: length. 0 sets no limit."
    )
    max_head_bytes: int = Field(
        4_194_304,
        ge=1024,
        le=8_000_000,
        description="Largest head of a request or response, in bytes, at most 8000000.",
    )
    spool_bytes: int = Field(
        524_288, ge=0, description="Bodies larger than this wait on the disk instead of in memory, in bytes."
    )
    websocket_max_bytes: int = Field(
        1_000_000_000,
        ge=0,
        description="Most bytes that are kept of one WebSocket; then its record gets WARC-Truncated: length. 0 sets no"
        " limit.",
    )
    websocket_segment_bytes: int = Field(
        67_108_864, ge=1, description="Size at which the messages of a WebSocket so far are written as a record."
    )
    queue_length: int = Field(
        500, ge=1, description="Most exchanges of one process that wait to be written. Above it, clients must wait."
    )


class _Addresses(Section):
    """These settings control the addresses of origins, and the way to them."""

    heading: ClassVar[str] = "Addresses and routes of origins"

    allow_private: bool = Field(False, description="Fetch also from loopback, private and link-local addresses.")
    resolve: dict[str, str] = Field(
        default_factory=dict,
        description="Addresses of names, which are used instead of DNS: a name and one address, or several separated by"
        " spaces. *.NAME matches all names below NAME.",
    )
    egress: dict[str, str] = Field(
        default_factory=dict,
        description="Further proxies through which hosts are reached: a host, and http://USER:PASSWORD@HOST:PORT,"
        " socks5://HOST:PORT or direct. The further proxy then resolves the name. *.NAME matches all hosts below"
        " NAME, * every host.",
    )
    dead_host_seconds: float = Field(
        60,
        ge=0,
        description="Longest time for which requests to a host are refused without a try after failed connects. It is"
        " 1 s after the first quick failure and doubles with each further one. 0 switches this off.",
    )
    host_delay: dict[str, Annotated[float, Field(ge=0, le=LONGEST_DELAY_SECONDS)]] = Field(
        default_factory=dict,
        description="Least number of seconds between two requests of the whole fleet to a host, those of browsers"
        " included. *.NAME matches all hosts below NAME, * every host.",
    )
    host_delay_wait_seconds: float = Field(
        60, ge=0, description="Longest wait of a request under host_delay. A request that would wait longer gets 503."
    )


class _Origins(Section):
    """These settings control connections to origins and their TLS."""

    heading: ClassVar[str] = "Connections to origins"

    upstream_ca: str = Field(
        "", description="PEM file with certificate authorities to trust in addition to those of the system."
    )
    client_certificates: dict[str, str] = Field(
        default_factory=dict,
        description="Client certificates: a host, and a PEM file with the certificate and its key without password."
        " *.NAME matches all hosts below NAME, * every host.",
    )
    legacy_renegotiation: bool = Field(
        False,
        description="Trust TLS origins without secure renegotiation (RFC 5746). With false they are fetched too, and"
        " their records are marked.",
    )
    via: str = Field("", description="Name for Via headers to origins and clients. By default no Via header is sent.")
    keep_alive_seconds: float = Field(30, gt=0, description="How long an idle connection to an origin is kept.")
    connections_per_host: int = Field(
        32, ge=1, description="Most connections of one process to one origin. Open WebSockets are not counted."
    )


class _Deadlines(Section):
    """These settings control how long exchanges may take."""

    heading: ClassVar[str] = "Time limits of exchanges"

    connect_seconds: float = Field(20, gt=0, description="Longest wait for a connection to an origin, with TLS.")
    first_byte_seconds: float = Field(60, gt=0, description="Longest wait for the first byte of a response.")
    idle_seconds: float = Field(60, gt=0, description="Longest pause within a response.")
    total_seconds: float = Field(
        1800, gt=0, description="Longest exchange. After it the response ends, with WARC-Truncated: time."
    )
    stall_seconds: float = Field(
        10,
        ge=0,
        description="A client that does not take its response is cut off when another request has waited this long for"
        " the connection to the origin. 0 switches this off.",
    )
    orphan_seconds: float = Field(120, ge=0, description="How long a fetch continues after its client has left.")
    orphan_bytes: int = Field(
        2_000_000_000,
        ge=0,
        description="Most bytes that a fetch still takes after its client has left. 0 sets no limit.",
    )
    orphans: int = Field(256, ge=0, description="Most fetches of one process that continue without their client.")
    slow_seconds: float = Field(
        0,
        ge=0,
        description="Exchanges slower than this are logged, with the time of each step. 0 logs none.",
    )


class _Processes(Section):
    """These settings control the recording processes, their start and their end."""

    heading: ClassVar[str] = "Processes"

    processes: int = Field(1, ge=1, le=64, description="Number of recording processes that share the main port.")
    drain_seconds: float = Field(30, ge=0, description="Longest wait at SIGTERM for the end of exchanges in progress.")
    retire_seconds: float = Field(
        1800,
        ge=0,
        description="How long a process that a restart replaced keeps serving the connections that it has.",
    )
    heartbeat_seconds: float = Field(
        5,
        gt=0,
        description="How often a process tells Redis that it serves. A process is no longer listed after three such"
        " times without a message.",
    )


class _Replay(Section):
    """These settings control what the archive answers in the modes replay and patch."""

    heading: ClassVar[str] = "Replay"

    replay_similar: bool = Field(
        True,
        description="In mode replay, answer a URL that was not captured with the capture of one that differs only in"
        " volatile parts, such as a time or a random number. The header Ghostfleet-Replay says so.",
    )
    replay_clock: bool = Field(
        False,
        description="In modes replay and patch, put a script into archived documents that sets the page's clock to"
        " the time of the capture, and makes Math.random repeatable. Otherwise nothing is put into documents.",
    )
    replay_banner: bool = Field(
        False,
        description="In modes replay and patch, put a script into archived documents that shows a banner with the"
        " date and the collection.",
    )


class _Scripts(Section):
    """These settings name the Python code of users that takes part in exchanges."""

    heading: ClassVar[str] = "Addons and scripts"

    addons: Listed[str] = Field(
        (), description="Addons, comma separated: .py files, or entry points of the group ghostfleet.addons."
    )
    script_folder: str = Field(
        "", description="Folder of the mitmproxy scripts that sessions may name. By default they may name none."
    )
    scripts: Listed[str] = Field(
        (), description="mitmproxy scripts in script_folder for traffic without a session, comma separated."
    )
    script_body_bytes: int = Field(
        16_777_216,
        ge=1,
        description="Bodies larger than this are not shown to scripts, which see the heads and the content None.",
    )


# pydantic orders fields from the last base to the first.
class ProxySettings(
    _Scripts, _Processes, _Replay, _Deadlines, _Origins, _Addresses, _Records, _DefaultTraffic, _Listeners
):
    """These settings control the recording proxies."""


GROUPS: Final = (_Listeners, _DefaultTraffic, _Records, _Addresses, _Origins, _Deadlines, _Replay, _Processes, _Scripts)
"""The groups in the order of their fields, for the documentation."""
