"""This list has everything that people and programs can do with capture sessions."""

from __future__ import annotations

from typing import Final

from admin.capture_sessions import details, mends, notes, sessions
from admin.capture_sessions.details import CaptureSessionDetails
from admin.capture_sessions.harvest import HarvestFromSession, make_harvest
from admin.capture_sessions.mends import HandCapture, HandCaptureView
from admin.capture_sessions.notes import CaptureNoteView, NewCaptureNote
from admin.capture_sessions.sessions import CaptureAccess, CapturePageView, CaptureSessionView, NewCaptureSession
from admin.harvests.definitions.definition import HarvestView
from admin.models.operation import Operation
from admin.models.transaction import Right

OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        "capture-session.list",
        "GET",
        "/capture-sessions",
        Right.READ,
        sessions.list_sessions,
        "List capture sessions, the newest first.",
        output=CaptureSessionView,
        is_list=True,
    ),
    Operation(
        "capture-session.start",
        "POST",
        "/capture-sessions",
        Right.OPERATE,
        sessions.start,
        "Make a capture session for a browser of your own.",
        input=NewCaptureSession,
        output=CaptureSessionView,
        status=201,
    ),
    Operation(
        "capture-session.show",
        "GET",
        "/capture-sessions/{session}",
        Right.READ,
        details.show,
        "Show a capture session, what it has kept, and its notes.",
        output=CaptureSessionDetails,
    ),
    Operation(
        "capture-session.list-pages",
        "GET",
        "/capture-sessions/{session}/pages",
        Right.READ,
        sessions.list_pages,
        "List the pages of a capture session in the order of the visits.",
        output=CapturePageView,
        is_list=True,
    ),
    Operation(
        "capture-session.note",
        "POST",
        "/capture-sessions/{session}/notes",
        Right.OPERATE,
        notes.write_note,
        "Write a note about a page of a capture session.",
        input=NewCaptureNote,
        output=CaptureNoteView,
        status=201,
    ),
    Operation(
        "capture-session.list-notes",
        "GET",
        "/capture-sessions/{session}/notes",
        Right.READ,
        notes.list_notes,
        "List the notes of a capture session in the order of the writing.",
        output=CaptureNoteView,
        is_list=True,
    ),
    Operation(
        "capture-session.show-access",
        "GET",
        "/capture-sessions/{session}/access",
        Right.OPERATE,
        sessions.show_access,
        "Show the proxy and the credentials that a browser of your own needs.",
        output=CaptureAccess,
    ),
    Operation(
        "capture-session.pause",
        "POST",
        "/capture-sessions/{session}/pause",
        Right.OPERATE,
        sessions.pause,
        "Keep nothing until the session is resumed.",
        output=CaptureSessionView,
    ),
    Operation(
        "capture-session.resume",
        "POST",
        "/capture-sessions/{session}/resume",
        Right.OPERATE,
        sessions.resume,
        "Go on with a paused or an ended capture session.",
        output=CaptureSessionView,
    ),
    Operation(
        "capture-session.make-harvest",
        "POST",
        "/capture-sessions/{session}/harvest",
        Right.CURATE,
        make_harvest,
        "Make a harvest with the pages of a capture session as seeds.",
        input=HarvestFromSession,
        output=HarvestView,
        status=201,
    ),
    Operation(
        "capture-session.end",
        "POST",
        "/capture-sessions/{session}/end",
        Right.OPERATE,
        sessions.end,
        "End a capture session and close its WARC files.",
        output=CaptureSessionView,
    ),
    Operation(
        "qa.capture-by-hand",
        "POST",
        "/qa-sessions/{session}/pages/{page}/hand-captures",
        Right.OPERATE,
        mends.capture_by_hand,
        "Let a damaged page be captured by hand in a capture session, and judged again when that session has ended.",
        input=HandCapture,
        output=HandCaptureView,
        status=201,
    ),
)
