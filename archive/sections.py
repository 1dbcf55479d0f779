"""The sections of the settings: what can be set in each room, its default and its meaning."""

from __future__ import annotations

from typing import Annotated, Final, Literal, get_args

from pydantic import Field, field_validator

from archive.digest import Algorithm
from archive.section import Section
from archive.warcname import DEFAULT_TEMPLATE, checked_folder, checked_template

type Deliver = Literal["durable", "written", "at_once"]
type Compression = Literal["gzip", "zstd"]
type LogFormat = Literal["text", "json"]
type Mode = Literal["record", "replay", "patch", "live"]
"""`patch` answers from the archive first and records what is missing there; `live` relays and keeps nothing."""
type Trust = Literal["loopback", "all", "none"]
MODES: Final[tuple[str, ...]] = get_args(Mode.__value__)
LONGEST_DELAY_SECONDS: Final = 3600.0
"""Between two requests to one host, at most."""
NAME_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
"""What a collection, job or prefix may be called: it becomes part of file names."""


class ArchiveSettings(Section):
    """How WARC files are written."""

    warc_max_bytes: int = Field(1_000_000_000, ge=1_000, description="size at which a WARC file is closed, in bytes")
    warc_idle_seconds: float = Field(600, gt=0, description="a WARC file is closed after this time without a record")
    warc_name: str = Field(
        DEFAULT_TEMPLATE, description="template of file names; also knows {timestamp14}; needs a time and {random}"
    )
    warc_folder: str = Field(
        "",
        description="template of subfolders, such as {prefix}/{year}/{month}; also day, hour, hostname, process",
    )
    compression: Compression = Field("gzip", description="gzip, or zstd: .warc.zst, smaller and read by fewer tools")
    zstd_level: int = Field(3, ge=1, le=19, description="zstd's level: 1 fastest, 19 smallest")
    zstd_dictionary: str = Field(
        "", description="file with a zstd dictionary to write with, made by `ghostfleet dictionary`; empty is none"
    )
    gzip_level: int = Field(1, ge=0, le=3, description="isal's level: 0 fastest, 3 smallest")
    digest: Algorithm = Field(
        "sha1",
        description="digest that records name: sha1, sha256, blake3 (known to few other tools); dedup keeps apart",
    )
    fsync: bool = Field(True, description="make every batch durable; false only where losing the last seconds is fine")
    min_free_bytes: int = Field(200_000_000, ge=0, description="below this much free disk, new requests get 503")
    operator: str = Field("", description="who runs this archive, for warcinfo")
    user_agent: str = Field(
        "Mozilla/5.0 (compatible; ghostfleet/0.1)", description="User-Agent of plain crawlers, and noted in warcinfo"
    )

    @field_validator("warc_name")
    @classmethod
    def _names_are_unique(cls, template: str) -> str:
        return checked_template(template)

    @field_validator("warc_folder")
    @classmethod
    def _folders_stay_inside(cls, template: str) -> str:
        return checked_folder(template)


class StorageSettings(Section):
    """Where finished WARC files are handed to."""

    url: str = Field("", description="folder or fsspec URL (s3://bucket/path) for finished WARC files; empty is none")
    options: dict[str, str] = Field(
        default_factory=dict, description="of the storage's library, such as endpoint_url=https://s3.example.org"
    )
    keep_local_seconds: float = Field(
        -1, ge=-1, description="age at which a WARC that was handed over leaves the home; -1 is never"
    )
    answer_seconds: float = Field(
        30, gt=0, description="longest time until the first byte of a replay whose record is in the storage; then 504"
    )
    look_seconds: float = Field(10, gt=0, description="how often finished files are looked for")
    max_retry_seconds: float = Field(
        600, gt=0, description="longest pause after failures; it doubles from look_seconds"
    )
    drain_seconds: float = Field(
        60, ge=0, le=100, description="longest time at the end for what was just finished; the rest waits for a start"
    )


class RedisSettings(Section):
    """The shared memory of the fleet."""

    url: str = Field(
        "",
        description="Redis, Valkey or Kvrocks to use, or cluster://HOST:PORT of any server of a Redis Cluster; empty"
        " starts a private one in the home",
    )
    timeout_seconds: float = Field(5, gt=0, description="longest wait for one answer from Redis")


class DatabaseSettings(Section):
    """The durable index and the admin's tables."""

    url: str = Field(
        "",
        description="SQLAlchemy URL, as `postgresql://…` (takes `ghostfleet[postgresql]`); empty is SQLite in the home",
    )


class ProxySettings(Section):
    """The recording proxies."""

    host: str = Field("127.0.0.1", description="address to listen on")
    port: int = Field(8000, ge=0, le=65535, description="port of the fleet; 0 picks a free one")
    control_port: int = Field(0, ge=0, le=65535, description="first process's control port; 0 picks a free one")
    processes: int = Field(1, ge=1, le=64, description="recording processes that share the port")
    session_ports: str = Field(
        "",
        pattern=r"^([1-9]\d{0,4}-[1-9]\d{0,4})?$",
        description="ports of sessions, first-last; empty is any free one",
    )
    collection: str = Field("default", pattern=NAME_PATTERN, description="collection of traffic without a session")
    mode: Mode = Field("record", description="mode of traffic without a session: record, replay, patch, live")
    prefix: str = Field(
        "",
        pattern=f"^-?$|{NAME_PATTERN}",
        description="WARC prefix of traffic without a session; - archives none of it",
    )
    log_dir: str = Field("", description="folder for the crawl.log of traffic without a session; empty writes none")
    methods: str = Field("", description="methods that are archived, comma separated; empty is all")
    via: str = Field("", description="name for Via headers, sent to origins and clients; empty sends none")
    limit_seconds: float = Field(20, ge=0, description="longest wait for requests under way that may use up a limit")
    deliver: Deliver = Field("durable", description="client sees the end: durable (after fsync), written, at_once")
    allow_private: bool = Field(False, description="fetch from loopback, private and link-local addresses")
    resolve: dict[str, str] = Field(
        default_factory=dict,
        description="name to address, or several parted by spaces, before DNS; *.name matches all below",
    )
    record_resolve: bool = Field(False, description="write dns: records for names of proxy.resolve as well")
    record_provenance: bool = Field(
        True, description="write DNS answers (dns:NAME) and certificate chains (urn:certificates:HOST:PORT) as records"
    )
    dns_seconds: int = Field(300, ge=1, description="how long an answer of DNS is believed: getaddrinfo tells no TTL")
    host_delay: dict[str, Annotated[float, Field(ge=0, le=LONGEST_DELAY_SECONDS)]] = Field(
        default_factory=dict,
        description="host to the least seconds between two requests to it by the whole fleet, browsers' among them;"
        " *.name matches all below, * every host",
    )
    host_delay_wait_seconds: float = Field(
        60, ge=0, description="longest wait for a turn at such a host; whoever would wait longer gets 503"
    )
    dead_host_seconds: float = Field(
        60, ge=0, description="after a failed connect, how long a host's requests are answered at once; 0 never"
    )
    egress: dict[str, str] = Field(
        default_factory=dict,
        description="host to the proxy it is reached by, which then resolves its name: http://USER:PASSWORD@HOST:PORT,"
        " socks5://HOST:PORT or direct; *.name matches all below, * every host",
    )
    client_certificates: dict[str, str] = Field(
        default_factory=dict,
        description="host to a PEM file with the certificate, and key without password, to show it; *.name as above",
    )
    legacy_renegotiation: bool = Field(
        False,
        description="trust TLS origins without secure renegotiation (RFC 5746); else they are fetched and flagged",
    )
    resume_tls: bool = Field(True, description="resume TLS sessions of origins that are not reached by an egress")
    upstream_ca: str = Field("", description="PEM file of certificate authorities to trust besides the system's")
    trust_clients: Trust = Field(
        "loopback",
        description="whose commands (Warcprox-Meta) the main port obeys without a password: loopback, all, none",
    )
    password: str = Field("", description="when set, the main port asks for it (Basic, any user name)")
    http2: bool = Field(
        False, description="offer HTTP/2 to clients within CONNECT: fewer handshakes, but more CPU for each exchange"
    )
    http2_origins: bool = Field(
        False, description="offer HTTP/2 to origins; records then have the messages as HTTP/1.1, and WARC-Protocol: h2"
    )
    request_seconds: float = Field(
        60, gt=0, description="longest time a client may take for the head of a request, or for its TLS handshake"
    )
    connect_seconds: float = Field(20, gt=0, description="longest wait for a connection, TLS included")
    first_byte_seconds: float = Field(60, gt=0, description="longest wait for the first byte of a response")
    idle_seconds: float = Field(60, gt=0, description="longest silence within a response")
    total_seconds: float = Field(1800, gt=0, description="longest exchange; then it ends, WARC-Truncated: time")
    max_body_bytes: int = Field(0, ge=0, description="largest body kept, then WARC-Truncated: length; 0 is no limit")
    max_head_bytes: int = Field(4_194_304, ge=1024, description="largest head of a request or response")
    spool_bytes: int = Field(524_288, ge=0, description="bodies larger than this wait on disk instead of in memory")
    one_core: bool = Field(
        True, description="keep the two busy threads of a process on one core, which saves CPU (Linux)"
    )
    whole_ranges: bool = Field(
        False, description="fetch and keep the whole for a Range that begins at 0; the client gets its part as 206"
    )
    websocket_max_bytes: int = Field(
        1_000_000_000, ge=0, description="most kept of one WebSocket, then WARC-Truncated: length; 0 is no limit"
    )
    websocket_segment_bytes: int = Field(
        67_108_864, ge=1, description="size at which what a WebSocket said so far becomes a record"
    )
    orphan_seconds: float = Field(120, ge=0, description="how long a fetch goes on after its client left")
    orphan_bytes: int = Field(
        2_000_000_000, ge=0, description="how much a fetch still gets after its client left, in bytes; 0 is no limit"
    )
    orphans: int = Field(256, ge=0, description="most fetches of one process that go on without their client")
    keep_alive_seconds: float = Field(30, gt=0, description="how long an idle connection to an origin is kept")
    connections_per_host: int = Field(
        32, ge=1, description="most connections of one process to one origin; open WebSockets are not counted"
    )
    stall_seconds: float = Field(
        10,
        ge=0,
        description="a client that holds up a connection to an origin is cut off when another waits so long; 0 never",
    )
    queue_length: int = Field(500, ge=1, description="exchanges waiting to be written before clients must wait")
    drain_seconds: float = Field(30, ge=0, description="longest wait at SIGTERM for exchanges in flight")
    retire_seconds: float = Field(
        1800, ge=0, description="how long a process that a restart replaced goes on with the connections it has"
    )
    slow_seconds: float = Field(
        0, ge=0, description="exchanges slower than this are logged, with where the time went; 0 logs none"
    )
    heartbeat_seconds: float = Field(
        5, gt=0, description="how often a process tells Redis that it serves; after three without, it is not listed"
    )
    addons: tuple[str, ...] = Field(
        (), description="addons of your own, comma separated: .py files, or entry points of the group ghostfleet.addons"
    )

    script_folder: str = Field(
        "", description="folder of the mitmproxy scripts that sessions may name; empty allows none"
    )
    scripts: tuple[str, ...] = Field(
        (), description="mitmproxy scripts, of that folder, for traffic without a session; comma separated"
    )
    script_body_bytes: int = Field(
        16_777_216, ge=1, description="bodies larger than this pass scripts by: they see heads, and content None"
    )

    @field_validator("addons", "scripts", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return tuple(name.strip() for name in value.split(",") if name.strip()) if isinstance(value, str) else value


class FrontierSettings(Section):
    """What next, and how politely."""

    delay_factor: float = Field(5.0, ge=0, description="pause after a fetch, as a multiple of its duration")
    min_delay_seconds: float = Field(3.0, ge=0, description="shortest pause between two visits of one host")
    max_delay_seconds: float = Field(30.0, ge=0, description="longest pause that the factor may ask for")
    max_crawl_delay_seconds: float = Field(300.0, ge=0, description="longest Crawl-Delay of robots.txt that is obeyed")
    robots: Literal["obey", "ignore"] = Field("obey", description="whether robots.txt decides")
    robots_seconds: float = Field(86_400, gt=0, description="how long a robots.txt is believed")
    lease_seconds: float = Field(600, gt=0, description="a URL whose worker went silent is handed out again after this")
    per_host: int = Field(1, ge=1, le=64, description="visits of one host that may go on at once")
    host_failures: int = Field(8, ge=1, description="failures in a row after which a host is set aside")
    shard: str = Field("main", pattern=NAME_PATTERN, description="jobs of one shard share hosts and one Redis slot")
    max_retries: int = Field(3, ge=0, description="tries after the first for failures that may pass")
    retry_seconds: float = Field(30, ge=0, description="pause before the first retry; doubled for each further one")
    max_retry_seconds: float = Field(3600, ge=0, description="longest pause before a retry")


class BrowserSettings(Section):
    """The visitors."""

    executable: str = Field("", description="Chromium or Chrome to use; empty finds one")
    workers: int = Field(2, ge=1, le=256, description="visits going on at once")
    page_seconds: float = Field(90, gt=0, description="longest visit of one page")
    load_seconds: float = Field(45, gt=0, description="longest wait for a page's load event")
    settle_seconds: float = Field(0.5, ge=0, description="the network is settled after this long without a request")
    settle_max_seconds: float = Field(15, gt=0, description="longest wait for the network to settle")
    scroll_seconds: float = Field(20, ge=0, description="longest time spent scrolling one page")
    width: int = Field(1280, ge=100, description="width of the window, CSS pixels")
    height: int = Field(1024, ge=100, description="height of the window, CSS pixels")
    lang: str = Field("en", description="Accept-Language of ghosts")
    sandbox: bool = Field(True, description="Chromium's sandbox; switched off only when run as root, with a warning")
    close_seconds: float = Field(30, gt=0, description="longest wait for a page's last captures to be durable")
    full_page_height: int = Field(10_000, ge=100, description="height at which full-page screenshots end, CSS pixels")
    user_agent: str = Field("", description="User-Agent of ghosts; empty is the browser's own, without 'Headless'")
    contexts_per_browser: int = Field(50, ge=1, description="visits after which a browser is replaced by a fresh one")
    max_page_bytes: int = Field(16_777_216, ge=1024, description="largest document searched for links")


class AdminSettings(Section):
    """The CDX server and the admin's pages."""

    host: str = Field("127.0.0.1", description="address of the index server and the admin")
    cdx_port: int = Field(0, ge=0, le=65535, description="port of the CDX server; 0 picks a free one")


class LogSettings(Section):
    """The log files in the home."""

    format: LogFormat = Field("text", description="text for people, or json: one object on each line")
