"""People and programs can look at collections in these ways."""

from __future__ import annotations

from typing import Final

from admin.collections.browsing import calendar, capture, files, listing, replay_sessions, search
from admin.collections.browsing.calendar import CalendarView
from admin.collections.browsing.capture import CaptureView
from admin.collections.browsing.files import FileLine
from admin.collections.browsing.listing import CollectionLine, CollectionView
from admin.collections.browsing.replay_sessions import NewReplaySession, ReplaySession
from admin.collections.browsing.search import CaptureLine
from admin.models.operation import Operation
from admin.models.transaction import Right

OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        "collection.list",
        "GET",
        "/collections",
        Right.READ,
        listing.list_collections,
        "List collections with their files and captures.",
        output=CollectionLine,
        is_list=True,
    ),
    Operation(
        "collection.show",
        "GET",
        "/collections/{name}",
        Right.READ,
        listing.show_collection,
        "Show a collection with its statistics.",
        output=CollectionView,
    ),
    Operation(
        "collection.files",
        "GET",
        "/collections/{name}/files",
        Right.READ,
        files.list_files,
        "List the WARC files of a collection.",
        output=FileLine,
        is_list=True,
    ),
    Operation(
        "collection.captures",
        "GET",
        "/collections/{name}/captures",
        Right.READ,
        search.list_captures,
        "List captures by URL, date, media type, status, kind and job.",
        output=CaptureLine,
        is_list=True,
    ),
    Operation(
        "collection.capture",
        "GET",
        "/collections/{name}/capture",
        Right.READ,
        capture.show_capture,
        "Show a capture with the headers of its record.",
        output=CaptureView,
    ),
    Operation(
        "collection.calendar",
        "GET",
        "/collections/{name}/calendar",
        Right.READ,
        calendar.show_calendar,
        "Show the days on which a URL was captured.",
        output=CalendarView,
    ),
    Operation(
        "collection.replay",
        "POST",
        "/collections/{name}/replay-sessions",
        Right.READ,
        replay_sessions.open_replay_session,
        "Open a proxy port through which a browser sees the collection at a date.",
        input=NewReplaySession,
        output=ReplaySession,
        status=201,
    ),
)
