"""The module speaks OpenID Connect: the authorization code flow has PKCE (S256), state and nonce.

`begin` gives the URL to which the browser is sent, and a `Challenge` that the site keeps for this browser. `finish`
takes the parameters with which the browser comes back, and gives the `ProviderIdentity` of the person. Both
take and give plain values, and know neither cookies nor the database.

Authlib and joserfc come with the extra `oidc`, and are imported when somebody logs in so.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from admin.models.errors import UseCaseError
from admin.models.people_tables import Role
from archive.dates import Micros
from archive.settings.people import PeopleSettings
from archive.settings.values.extra_libraries import missing_library
from archive.settings.values.secret_file import SecretUnreadable, secret

ALGORITHMS: Final = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
    "Ed25519",
)
"""Signatures by a key of the provider. Neither `none` nor HMAC is among them, whatever the provider's document says."""
CHALLENGE_SECONDS: Final = 600
"""How long a person may take at the provider."""
_SECOND: Final = 1_000_000
_TIMEOUT: Final = 10.0
_LONGEST_DOCUMENT: Final = 1_000_000
"""Bytes of an answer of the provider."""
_LONGEST_PARAMETER: Final = 4096
_LEEWAY: Final = 120
"""Seconds by which the clocks may differ."""
_BELIEVED: Final = 3600 * _SECOND
"""How long the provider's documents are believed."""
_AGAIN: Final = 60 * _SECOND
"""How often keys may be asked for anew because of a token with an unknown key."""


class OpenIdRefused(UseCaseError):
    """The login by OpenID Connect failed; the message is for the person and the administrator."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """The site keeps these values for a browser until the browser comes back. They are secrets of that browser."""

    state: str
    nonce: str
    verifier: str
    made: Micros


@dataclass(frozen=True, slots=True)
class ProviderIdentity:
    """The provider vouches for these claims of a person. Issuer and subject alone tell who the person is."""

    issuer: str
    subject: str
    name: str
    full_name: str
    email: str
    zone: str
    role: Role | None
    """The role that the settings make of the claims; None when they give the person no role."""


class Provider:
    """A provider of OpenID Connect is asked as the settings name it. Safe to share between threads."""

    def __init__(self, settings: PeopleSettings) -> None:
        """Raise OpenIdRefused when the settings name no provider, or the extra is missing."""
        if not (settings.oidc_issuer and settings.oidc_client_id):
            raise OpenIdRefused("no provider is set; set people.oidc_issuer and people.oidc_client_id")
        _check_installed(settings.oidc_issuer)
        self._settings = settings
        self._lock = threading.Lock()
        self._metadata: tuple[Micros, dict[str, Any]] | None = None
        self._keys: tuple[Micros, Any] | None = None

    def begin(self, redirect_uri: str, now: Micros) -> tuple[str, Challenge]:
        """Return the URL to which the browser is sent, and what the site keeps meanwhile. Raises OpenIdRefused."""
        challenge = Challenge(secrets.token_urlsafe(32), secrets.token_urlsafe(32), secrets.token_urlsafe(32), now)
        metadata = self._provider(now)
        url, _ = self._client(redirect_uri).create_authorization_url(
            _endpoint(metadata, "authorization_endpoint"),
            state=challenge.state,
            nonce=challenge.nonce,
            code_verifier=challenge.verifier,
        )
        return str(url), challenge

    def finish(
        self, challenge: Challenge, redirect_uri: str, parameters: Mapping[str, str], now: Micros
    ) -> ProviderIdentity:
        """Return who logged in, from the query parameters with which the browser came back. Raises OpenIdRefused."""
        metadata = self._provider(now)
        code = _checked_code(challenge, parameters, str(metadata["issuer"]), now)
        token = self._token(metadata, challenge, redirect_uri, code)
        return self._identity(self._claims(metadata, challenge, token, now))

    def _client(self, redirect_uri: str) -> Any:
        from authlib.integrations.requests_client import OAuth2Session

        settings = self._settings
        try:
            password = secret(
                "people.oidc_client_secret", settings.oidc_client_secret, settings.oidc_client_secret_file
            )
        except SecretUnreadable as error:
            raise OpenIdRefused(str(error)) from error
        client = OAuth2Session(
            settings.oidc_client_id,
            password or None,
            scope=settings.oidc_scopes,
            redirect_uri=redirect_uri,
            code_challenge_method="S256",
        )
        client.trust_env = False
        return client

    def _provider(self, now: Micros) -> dict[str, Any]:
        """Return the provider's document (OpenID Connect Discovery 1.0)."""
        with self._lock:
            known = self._metadata
        if known is not None and 0 <= now - known[0] < _BELIEVED:
            return known[1]
        issuer = self._settings.oidc_issuer
        found = _document(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        if found.get("issuer") != issuer:
            raise OpenIdRefused(
                f"the provider calls itself {str(found.get('issuer'))[:200]!r}; set people.oidc_issuer to exactly this"
            )
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            _endpoint(found, name)
        with self._lock:
            self._metadata = (now, found)
        return found

    def _key_set(self, metadata: Mapping[str, Any], now: Micros, *, anew: bool = False) -> Any:
        """Return the provider's keys. Raises JoseError and ValueError for keys that can't be read."""
        from joserfc.jwk import KeySet

        with self._lock:
            known = self._keys
        if known is not None and 0 <= now - known[0] < (_AGAIN if anew else _BELIEVED):
            return known[1]
        keys: Any = _document(_endpoint(metadata, "jwks_uri"))
        found = KeySet.import_key_set(keys)
        with self._lock:
            self._keys = (now, found)
        return found

    def _token(
        self, metadata: Mapping[str, Any], challenge: Challenge, redirect_uri: str, code: str
    ) -> Mapping[str, Any]:
        """Exchange the code for tokens. The verifier shows that it was us who asked (RFC 7636)."""
        import requests
        from authlib.common.errors import AuthlibBaseError

        client = self._client(redirect_uri)
        methods = metadata.get("token_endpoint_auth_methods_supported")
        if client.client_secret and isinstance(methods, list) and "client_secret_basic" not in methods:
            client.token_endpoint_auth_method = "client_secret_post"
        bounded = _bounded_adapter()
        client.mount("https://", bounded)
        client.mount("http://", bounded)
        try:
            token = client.fetch_token(
                _endpoint(metadata, "token_endpoint"),
                grant_type="authorization_code",
                code=code,
                code_verifier=challenge.verifier,
                redirect_uri=redirect_uri,
                timeout=_TIMEOUT,
                allow_redirects=False,
            )
        except (AuthlibBaseError, requests.RequestException, ValueError) as error:
            raise OpenIdRefused(f"the provider gave no token: {_short(error)}; log in again") from error
        if not isinstance(token, Mapping) or not isinstance(token.get("id_token"), str):
            raise OpenIdRefused("the provider gave no ID token; check that people.oidc_scopes has openid")
        return token

    def _claims(
        self, metadata: Mapping[str, Any], challenge: Challenge, token: Mapping[str, Any], now: Micros
    ) -> dict[str, Any]:
        """Return the claims of the ID token, after every check that OpenID Connect Core 3.1.3.7 asks for."""
        from authlib.oidc.core import CodeIDToken
        from joserfc import jwt
        from joserfc.errors import InvalidKeyIdError, JoseError

        text, allowed = token["id_token"], _algorithms(metadata)
        try:
            try:
                decoded = jwt.decode(text, self._key_set(metadata, now), algorithms=allowed)
            except InvalidKeyIdError:  # the provider has a new key
                decoded = jwt.decode(text, self._key_set(metadata, now, anew=True), algorithms=allowed)
            claims = CodeIDToken(
                decoded.claims,
                decoded.header,
                {
                    "iss": {"essential": True, "value": metadata["issuer"]},
                    "aud": {"essential": True, "value": self._settings.oidc_client_id},
                    "sub": {"essential": True},
                    "nonce": {"essential": True, "value": challenge.nonce},
                },
                {
                    "nonce": challenge.nonce,
                    "client_id": self._settings.oidc_client_id,
                    "access_token": token.get("access_token"),
                },
            )
            claims.validate(now=now // _SECOND, leeway=_LEEWAY)
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise OpenIdRefused(f"the provider's ID token is not valid: {_short(error)}; log in again") from error
        return dict(claims)

    def _identity(self, claims: Mapping[str, Any]) -> ProviderIdentity:
        subject = claims.get("sub")
        if not isinstance(subject, str) or not 0 < len(subject) <= 255:  # OpenID Connect Core, section 2
            raise OpenIdRefused("the provider's ID token names no person; ask the provider's administrator")
        return ProviderIdentity(
            issuer=str(claims["iss"]),
            subject=subject,
            name=_claim(claims, "preferred_username") or _claim(claims, "email").partition("@")[0],
            full_name=_claim(claims, "name"),
            email=_claim(claims, "email") if claims.get("email_verified") is not False else "",
            zone=_claim(claims, "zoneinfo"),
            role=role_of(claims, self._settings),
        )


def role_of(claims: Mapping[str, Any], settings: PeopleSettings) -> Role | None:
    """Return the highest role that the claims give by the settings; None for none."""
    found: Any = claims if settings.oidc_role_claim else None
    for part in settings.oidc_role_claim.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    values = found if isinstance(found, list) else [found]
    given = {settings.oidc_roles[value] for value in values if isinstance(value, str) and value in settings.oidc_roles}
    order = [Role.ADMINISTRATOR, Role.CURATOR, Role.OPERATOR, Role.READER]
    for role in order:
        if role.value in given:
            return role
    return Role(settings.oidc_default_role) if settings.oidc_default_role else None


def _checked_code(challenge: Challenge, parameters: Mapping[str, str], issuer: str, now: Micros) -> str:
    """Return the code, after the checks that don't need the provider."""
    if not secrets.compare_digest(challenge.state.encode(), parameters.get("state", "").encode("utf-8", "replace")):
        raise OpenIdRefused("this login was not begun in this browser, or was begun anew; log in again")
    if not 0 <= now - challenge.made <= CHALLENGE_SECONDS * _SECOND:
        raise OpenIdRefused("this login took too long; log in again")
    if "iss" in parameters and parameters["iss"] != issuer:  # RFC 9207
        raise OpenIdRefused("the answer came from another provider; log in again")
    if "error" in parameters:
        said = f"{parameters['error']} {parameters.get('error_description', '')}"
        raise OpenIdRefused(f"the provider refused the login: {_short(said)}")
    code = parameters.get("code", "")
    if not 0 < len(code) <= _LONGEST_PARAMETER:
        raise OpenIdRefused("the provider sent no code; log in again")
    return code


def _algorithms(metadata: Mapping[str, Any]) -> list[str]:
    offered = metadata.get("id_token_signing_alg_values_supported")
    if not isinstance(offered, list):
        return ["RS256"]
    return [name for name in ALGORITHMS if name in offered] or ["RS256"]


def _endpoint(metadata: Mapping[str, Any], name: str) -> str:
    """Return an address of the provider, which must be as safe as the issuer's."""
    url = metadata.get(name)
    issuer = urlsplit(str(metadata.get("issuer")))
    if not isinstance(url, str) or len(url) > 2000 or urlsplit(url).scheme not in ("https", issuer.scheme):
        raise OpenIdRefused(f"the provider's document has no usable {name}; check people.oidc_issuer")
    return url


def _document(url: str) -> dict[str, Any]:
    """Return a JSON object of the provider. Redirects are not followed."""
    try:
        with (
            httpx.Client(timeout=_TIMEOUT, trust_env=False, follow_redirects=False) as client,
            client.stream("GET", url, headers={"accept": "application/json"}) as response,
        ):
            content = b""
            for piece in response.iter_bytes():
                content += piece
                if len(content) > _LONGEST_DOCUMENT:
                    raise OpenIdRefused(f"the provider's document at {url[:200]} is too large")
        if response.status_code != 200:
            raise OpenIdRefused(f"the provider answered {response.status_code} at {url[:200]}")
        found = json.loads(content)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError) as error:
        raise OpenIdRefused(f"the provider can't be asked at {url[:200]}: {_short(error)}") from error
    if not isinstance(found, dict):
        raise OpenIdRefused(f"the provider's document at {url[:200]} is no JSON object")
    return found


def _bounded_adapter() -> Any:
    """Return an adapter of requests that reads no more than `_LONGEST_DOCUMENT` of an answer."""
    from io import BytesIO

    from requests.adapters import HTTPAdapter

    class Bounded(HTTPAdapter):
        def send(self, request: Any, *arguments: Any, **keywords: Any) -> Any:
            response = super().send(request, *arguments, **{**keywords, "stream": True})
            content = response.raw.read(_LONGEST_DOCUMENT + 1, decode_content=True)
            response.raw.release_conn()
            if len(content) > _LONGEST_DOCUMENT:
                raise ValueError("the answer is too large")
            response.raw = BytesIO(content)
            return response

    return Bounded()


def _claim(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    return value if isinstance(value, str) and len(value) <= 1000 else ""


def _short(text: object) -> str:
    plain = "".join(each if each.isprintable() else " " for each in str(text)[:300])
    return " ".join(plain.split())


def _check_installed(issuer: str) -> None:
    try:
        import authlib
        import requests  # noqa: F401
    except ImportError as error:
        raise OpenIdRefused(missing_library("people.oidc_issuer", issuer, error)) from error
    assert authlib
