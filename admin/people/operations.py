"""These are the operations on people: users, links, the own profile, sessions, API tokens, and the audit."""

from __future__ import annotations

from typing import Final

from admin.models.operation import Operation
from admin.models.transaction import Right
from admin.people.api_tokens import (
    ApiTokenMade,
    ApiTokenView,
    NewApiToken,
    create_token,
    list_tokens,
    list_user_tokens,
    revoke_token,
    revoke_user_token,
)
from admin.people.audit import AuditView, list_audit
from admin.people.invitations import (
    InvitationView,
    NewInvitation,
    OneTimeLink,
    create_user,
    invite,
    list_invitations,
    reset_password,
    revoke_invitation,
)
from admin.people.profile import ProfileChange, change_profile, show_profile
from admin.people.sessions import SessionView, end_session, list_sessions
from admin.people.users import (
    NewUser,
    UserChange,
    UserView,
    activate_user,
    change_user,
    deactivate_user,
    end_user_sessions,
    list_users,
    release_user,
    show_user,
    show_user_sessions,
)

_USERS: Final = ("users",)
_OWN: Final = ("profile",)
_ALL: Final = Right.ADMINISTER

OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        "user.list", "GET", "/users", _ALL, list_users, "List users by name.",
        output=UserView, is_list=True, tags=_USERS,
    ),
    Operation(
        "user.create", "POST", "/users", _ALL, create_user,
        "Make a user, and a one-time link by which the person chooses a password.",
        input=NewUser, output=OneTimeLink, status=201, tags=_USERS,
    ),
    Operation("user.show", "GET", "/users/{name}", _ALL, show_user, "Show a user.", output=UserView, tags=_USERS),
    Operation(
        "user.change", "PATCH", "/users/{name}", _ALL, change_user, "Change a user's name, role, zone or activity.",
        input=UserChange, output=UserView, tags=_USERS,
    ),
    Operation(
        "user.deactivate", "POST", "/users/{name}/deactivate", _ALL, deactivate_user,
        "Deactivate a user and end the user's sessions.", output=UserView, tags=_USERS,
    ),
    Operation(
        "user.activate", "POST", "/users/{name}/activate", _ALL, activate_user, "Activate a user again.",
        output=UserView, tags=_USERS,
    ),
    Operation(
        "user.reset-password", "POST", "/users/{name}/reset-password", _ALL, reset_password,
        "Make a one-time link by which a user sets a new password.", output=OneTimeLink, tags=_USERS,
    ),
    Operation(
        "user.release", "POST", "/users/{name}/release", _ALL, release_user,
        "Let a user log in again who had too many failed attempts.", status=204, tags=_USERS,
    ),
    Operation(
        "user.sessions", "GET", "/users/{name}/sessions", _ALL, show_user_sessions, "List a user's sessions.",
        output=SessionView, is_list=True, tags=_USERS,
    ),
    Operation(
        "user.end-sessions", "DELETE", "/users/{name}/sessions", _ALL, end_user_sessions,
        "End all sessions of a user.", status=204, tags=_USERS,
    ),
    Operation(
        "user.tokens", "GET", "/users/{name}/tokens", _ALL, list_user_tokens, "List a user's API tokens.",
        output=ApiTokenView, is_list=True, tags=_USERS,
    ),
    Operation(
        "user.revoke-token", "DELETE", "/users/{name}/tokens/{id}", _ALL, revoke_user_token,
        "Revoke an API token of a user.", status=204, tags=_USERS,
    ),
    Operation(
        "invitation.list", "GET", "/invitations", _ALL, list_invitations, "List one-time links that were not used.",
        output=InvitationView, is_list=True, tags=_USERS,
    ),
    Operation(
        "invitation.create", "POST", "/invitations", _ALL, invite,
        "Make a one-time link by which a person becomes a user.",
        input=NewInvitation, output=OneTimeLink, status=201, tags=_USERS,
    ),
    Operation(
        "invitation.revoke", "DELETE", "/invitations/{id}", _ALL, revoke_invitation, "Revoke a one-time link.",
        status=204, tags=_USERS,
    ),
    Operation(
        "profile.show", "GET", "/profile", Right.READ, show_profile, "Show the own profile.",
        output=UserView, tags=_OWN,
    ),
    Operation(
        "profile.change", "PATCH", "/profile", Right.READ, change_profile,
        "Change the own name, e-mail address or time zone.", input=ProfileChange, output=UserView, tags=_OWN,
    ),
    Operation(
        "session.list", "GET", "/profile/sessions", Right.READ, list_sessions, "List the own sessions.",
        output=SessionView, is_list=True, tags=_OWN,
    ),
    Operation(
        "session.end", "DELETE", "/profile/sessions/{id}", Right.READ, end_session, "End one of the own sessions.",
        status=204, tags=_OWN,
    ),
    Operation(
        "token.list", "GET", "/profile/tokens", Right.READ, list_tokens, "List the own API tokens.",
        output=ApiTokenView, is_list=True, tags=_OWN,
    ),
    Operation(
        "token.create", "POST", "/profile/tokens", Right.READ, create_token,
        "Make an API token; its text is shown once.",
        input=NewApiToken, output=ApiTokenMade, status=201, tags=_OWN,
    ),
    Operation(
        "token.revoke", "DELETE", "/profile/tokens/{id}", Right.READ, revoke_token, "Revoke one of the own API tokens.",
        status=204, tags=_OWN,
    ),
    Operation(
        "audit.list", "GET", "/audit", Right.READ, list_audit,
        "List changes, the newest first: all for administrators, the own ones for everybody.",
        output=AuditView, is_list=True, tags=("audit",),
    ),
)  # fmt: skip
