"""The section `[people]` says how people log in to the admin, and how long their sessions last."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from archive.local_endpoints import plain_ip
from archive.settings.values.base import Section

ROLES: Final = ("administrator", "curator", "operator", "reader")


class PeopleSettings(Section):
    """These settings control passwords, sessions, throttling, and login by OpenID Connect."""

    password_min_length: int = Field(12, ge=8, le=200, description="fewest characters of a password")
    invitation_seconds: int = Field(
        259_200, ge=60, le=31_536_000, description="how long a one-time link for a new user or a new password works"
    )
    session_idle_seconds: int = Field(
        28_800, ge=60, le=31_536_000, description="a session that made no request for this time has ended"
    )
    session_seconds: int = Field(
        604_800, ge=60, le=31_536_000, description="longest session; then its user logs in again"
    )
    login_window_seconds: int = Field(900, ge=1, le=86_400, description="time for which login attempts are counted")
    login_attempts_per_account: int = Field(
        10, ge=1, le=10_000, description="most login attempts for one account in that time; a login begins anew"
    )
    login_attempts_per_address: int = Field(
        50, ge=1, le=1_000_000, description="most failed login attempts from one address (IPv6: /64) in that time"
    )
    oidc_issuer: str = Field(
        "",
        description="issuer of an OpenID Connect provider, such as https://id.example.org/realms/library (takes"
        " libraries that `./run` adds); empty is none",
    )
    oidc_client_id: str = Field("", description="what the provider calls this installation")
    oidc_client_secret: str = Field("", description="secret of that client; better from the environment or a file")
    oidc_client_secret_file: str = Field("", description="file that holds the secret of that client")
    oidc_scopes: str = Field("openid profile email", description="what the provider is asked for; needs openid")
    oidc_name: str = Field("OpenID Connect", min_length=1, max_length=60, description="the provider's name for people")
    oidc_role_claim: str = Field(
        "",
        description="claim of the ID token that holds groups or roles, with dots for what lies inside, such as groups"
        " or realm_access.roles; empty gives every new user oidc_default_role",
    )
    oidc_roles: dict[str, str] = Field(
        default_factory=dict,
        description="value of that claim to a role (administrator, curator, operator, reader); the highest one wins",
    )
    oidc_default_role: str = Field(
        "", description="role of those whose claim has none of these values; empty refuses their login"
    )

    @field_validator("oidc_issuer")
    @classmethod
    def _issuer_is_reached_safely(cls, issuer: str) -> str:
        if not issuer:
            return issuer
        parts = urlsplit(issuer)
        if parts.query or parts.fragment or not parts.hostname:
            raise ValueError("write the issuer as the provider does, such as https://id.example.org/realms/library")
        if parts.scheme != "https" and not (parts.scheme == "http" and _is_loopback(parts.hostname)):
            raise ValueError("the provider must be reached by https, or by http on this machine")
        return issuer

    @field_validator("oidc_scopes")
    @classmethod
    def _openid_is_asked_for(cls, scopes: str) -> str:
        if "openid" not in scopes.split():
            raise ValueError("add the scope openid")
        return scopes

    @field_validator("oidc_roles")
    @classmethod
    def _roles_are_known(cls, roles: dict[str, str]) -> dict[str, str]:
        for role in roles.values():
            _checked_role(role)
        return roles

    @field_validator("oidc_default_role")
    @classmethod
    def _role_is_known(cls, role: str) -> str:
        return _checked_role(role) if role else role


def _checked_role(role: str) -> str:
    if role not in ROLES:
        raise ValueError(f"{role[:80]!r} is no role; use one of {', '.join(ROLES)}")
    return role


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return plain_ip(host) in ("127.0.0.1", "::1")
    except ValueError:
        return False
