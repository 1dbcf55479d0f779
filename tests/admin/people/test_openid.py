"""admin/people/openid.py and openid_login.py: a whole login against a real provider, and providers that cheat."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import oidc_provider_mock
import pytest
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey
from sqlalchemy import select
from support.admin.site_users import PASSWORD, actions, actor_of, add_person, person
from support.web.openid_provider import running_provider

from admin.models.database import Database
from admin.models.errors import Forbidden, IllegalState, UseCaseError
from admin.models.people_tables import Role, User
from admin.models.transaction import COMMAND_LINE, Actor, Door
from admin.people.login import LoginRefused, log_in
from admin.people.openid import CHALLENGE_SECONDS, Challenge, OpenIdRefused, Provider, ProviderIdentity, role_of
from admin.people.openid_login import link_identity, log_in_by_openid, unlink_identity
from admin.people.users import deactivate_user
from archive.settings.load import SettingsError, load
from archive.settings.people import PeopleSettings

BACK = "http://127.0.0.1:8080/login/openid/back"
ROLES = {"oidc_role_claim": "realm_access.roles", "oidc_roles": {"web-archive": "curator", "it": "administrator"}}


def now() -> int:
    return time.time_ns() // 1000


def settings_of(issuer: str, **more: Any) -> PeopleSettings:
    return PeopleSettings(oidc_issuer=issuer, oidc_client_id="ghostfleet", oidc_client_secret="geheim", **more)


@pytest.fixture
def issuer(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A real provider on loopback, which knows one person. By http it serves with this variable alone."""
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    claims = {
        "preferred_username": "Anna.Berg",
        "name": "Anna Berg",
        "email": "anna@example.org",
        "zoneinfo": "Europe/Copenhagen",
        "realm_access": {"roles": ["reading-room", "web-archive"]},
    }
    people = [oidc_provider_mock.User(sub="4711", claims=claims)]
    with running_provider(user_claims=people, require_nonce=True) as address:
        yield address


def visit(url: str, subject: str = "4711", **more: str) -> dict[str, str]:
    """Do what a person and a browser do at the provider. Return the parameters with which the browser comes back."""
    with httpx.Client() as browser:
        answer = browser.post(url, data={"sub": subject, **more})
    assert answer.status_code == 302, answer.text
    assert answer.headers["location"].startswith(BACK)
    return {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}


def test_a_person_logs_in_at_a_real_provider_and_becomes_a_user(database: Database, issuer: str) -> None:
    add_person(database, "root", Role.ADMINISTRATOR)
    provider = Provider(settings_of(issuer, **ROLES))
    url, challenge = provider.begin(BACK, now())
    asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    assert (asked["code_challenge_method"], asked["response_type"]) == ("S256", "code")
    assert (asked["state"], asked["nonce"]) == (challenge.state, challenge.nonce)
    assert challenge.verifier not in url
    identity = provider.finish(challenge, BACK, visit(url), now())
    assert identity == ProviderIdentity(
        issuer, "4711", "Anna.Berg", "Anna Berg", "anna@example.org", "Europe/Copenhagen", Role.CURATOR
    )
    for _ in range(2):
        login = log_in_by_openid(database, identity)
    actor = actor_of(database, login.cookie)
    assert actor is not None
    assert (actor.name, actor.role) == ("anna.berg", Role.CURATOR)
    assert actions(database).count("user.create") == 2  # root and anna
    with pytest.raises(LoginRefused):
        log_in(database, "anna.berg", "")


def test_a_code_is_of_no_use_with_another_verifier_state_or_nonce(issuer: str) -> None:
    provider = Provider(settings_of(issuer, oidc_default_role="reader"))

    def attempt(change: Callable[[Challenge, dict[str, str]], tuple[Challenge, dict[str, str]]]) -> ProviderIdentity:
        url, challenge = provider.begin(BACK, now())
        challenge, back = change(challenge, visit(url))
        return provider.finish(challenge, BACK, back, now())

    assert attempt(lambda kept, back: (kept, back)).subject == "4711"
    for change, said in (
        (lambda kept, back: (replace(kept, nonce="x" * 43), back), "not valid: .*nonce"),
        (lambda kept, back: (replace(kept, state="x" * 43), back), "not begun in this browser"),
        (lambda kept, back: (kept, {**back, "state": "\udc80é"}), "not begun in this browser"),
        (lambda kept, back: (kept, {"code": back["code"]}), "not begun in this browser"),
        (lambda kept, back: (kept, {"state": kept.state}), "sent no code"),
        (lambda kept, back: (kept, {**back, "code": "x" * 100_000}), "sent no code"),
        (lambda kept, back: (kept, {**back, "code": "wrong"}), "gave no token"),
        (lambda kept, back: (kept, {**back, "iss": "https://evil.example"}), "another provider"),
        (lambda kept, back: (replace(kept, made=now() - (CHALLENGE_SECONDS + 1) * 10**6), back), "took too long"),
    ):
        with pytest.raises(OpenIdRefused, match=said):
            attempt(change)  # type: ignore[arg-type]


def test_a_person_who_declines_is_told_so(issuer: str) -> None:
    provider = Provider(settings_of(issuer, oidc_default_role="reader"))
    url, challenge = provider.begin(BACK, now())
    with pytest.raises(OpenIdRefused, match="the provider refused the login: access_denied"):
        provider.finish(challenge, BACK, visit(url, action="deny"), now())


@dataclass
class Cheat:
    """A provider that says what a test wants: its document, its keys, its token."""

    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "1", "use": "sig"}))
    document: dict[str, Any] = field(default_factory=dict)
    claims: dict[str, Any] = field(default_factory=dict)
    make: Callable[[Cheat, dict[str, Any]], str] | None = None
    raw: bytes | None = None
    form: dict[str, str] = field(default_factory=dict)
    authorization: str | None = None
    nonce: str = ""

    def __post_init__(self) -> None:
        cheat = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                known: dict[str, Callable[[], Any]] = {
                    "/.well-known/openid-configuration": cheat.metadata,
                    "/keys": lambda: {"keys": [cheat.key.as_dict(private=False)]},
                }
                self.answer(known[self.path]())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                cheat.form = {name: values[0] for name, values in parse_qs(body).items()}
                cheat.authorization = self.headers.get("Authorization")
                self.answer({"access_token": "at", "token_type": "Bearer", "id_token": cheat.token()})

            def answer(self, value: Any) -> None:
                content = cheat.raw if cheat.raw is not None else json.dumps(value).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.server.server_address[1]}"

    def metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
        } | self.document

    def token(self) -> str:
        seconds = int(time.time())
        claims = {
            "iss": self.issuer,
            "sub": "4711",
            "aud": "ghostfleet",
            "iat": seconds,
            "exp": seconds + 300,
            "nonce": self.nonce,
        } | self.claims
        claims = {name: value for name, value in claims.items() if value is not None}
        if self.make is not None:
            return self.make(self, claims)
        return jwt.encode({"alg": "RS256", "kid": "1"}, claims, self.key)


@pytest.fixture
def cheat() -> Iterator[Cheat]:
    cheat = Cheat()
    thread = threading.Thread(target=cheat.server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield cheat
    cheat.server.shutdown()
    cheat.server.server_close()
    thread.join()


def finish(cheat: Cheat, provider: Provider | None = None, **more: Any) -> ProviderIdentity:
    provider = provider or Provider(settings_of(cheat.issuer, oidc_default_role="reader", **more))
    _, challenge = provider.begin(BACK, now())
    cheat.nonce = challenge.nonce
    return provider.finish(challenge, BACK, {"state": challenge.state, "code": "c"}, now())


def test_the_client_shows_its_secret_and_its_verifier(cheat: Cheat) -> None:
    assert finish(cheat).subject == "4711"
    assert cheat.authorization is not None
    assert cheat.authorization.startswith("Basic ")
    assert (cheat.form["grant_type"], cheat.form["redirect_uri"]) == ("authorization_code", BACK)
    assert len(cheat.form["code_verifier"]) == 43
    cheat.document = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    finish(cheat)
    assert cheat.form["client_secret"] == "geheim"


def _unsigned(cheat: Cheat, claims: dict[str, Any]) -> str:
    import base64

    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none'})}.{part(claims)}."


def _by_public_key(cheat: Cheat, claims: dict[str, Any]) -> str:
    """Sign by HMAC with the public key, as a check that takes the token's word for its algorithm would believe."""
    return jwt.encode({"alg": "HS256", "kid": "1"}, claims, OctKey.import_key("public key as text " * 4))


def _by_other_key(cheat: Cheat, claims: dict[str, Any]) -> str:
    return jwt.encode({"alg": "RS256", "kid": "1"}, claims, RSAKey.generate_key(2048, {"kid": "1"}))


def _by_unknown_key(cheat: Cheat, claims: dict[str, Any]) -> str:
    return jwt.encode({"alg": "RS256", "kid": "2"}, claims, RSAKey.generate_key(2048, {"kid": "2"}))


@pytest.mark.parametrize(
    "make",
    [
        *(_unsigned, _by_public_key, _by_other_key, _by_unknown_key),
        *(lambda _, __: "", lambda _, __: "a.b.c", lambda _, __: "x" * 100_000),
    ],
)
def test_a_token_that_the_provider_did_not_sign_is_refused(
    cheat: Cheat, make: Callable[[Cheat, dict[str, Any]], str]
) -> None:
    cheat.make = make
    with pytest.raises(OpenIdRefused, match="not valid"):
        finish(cheat)


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.example"},
        {"aud": "another"},
        {"aud": None},
        {"aud": ["ghostfleet", "another"], "azp": "another"},
        {"exp": 1_500_000_000},
        {"exp": None},
        {"iat": 4_000_000_000},
        {"nonce": "another"},
        {"nonce": None},
        {"sub": None},
        {"sub": ""},
        {"sub": "x" * 256},
        {"sub": 4711},
        {"at_hash": "another"},
    ],
)
def test_a_token_for_another_purpose_is_refused(cheat: Cheat, claims: dict[str, Any]) -> None:
    cheat.claims = claims
    with pytest.raises(OpenIdRefused, match=r"not valid|names no person"):
        finish(cheat)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"issuer": "https://evil.example"}, "calls itself 'https://evil.example'; set people.oidc_issuer"),
        ({"token_endpoint": None}, "no usable token_endpoint"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "no usable authorization_endpoint"),
        ({"jwks_uri": "file:///etc/passwd"}, "no usable jwks_uri"),
    ],
)
def test_a_document_that_leads_elsewhere_is_refused(cheat: Cheat, document: dict[str, Any], said: str) -> None:
    cheat.document = document
    with pytest.raises(OpenIdRefused, match=said):
        finish(cheat)


@pytest.mark.parametrize(
    "raw", [b"", b"<html>", b"[]", b"[" * 100_000, b'{"a": "' + b"x" * 2_000_000 + b'"}', b"\xff\xfe"]
)
def test_an_answer_that_is_no_document_is_refused(cheat: Cheat, raw: bytes) -> None:
    cheat.raw = raw
    with pytest.raises(OpenIdRefused):
        finish(cheat)


def test_an_endless_answer_to_the_code_is_refused(cheat: Cheat) -> None:
    provider = Provider(settings_of(cheat.issuer, oidc_default_role="reader"))
    finish(cheat, provider)
    _, challenge = provider.begin(BACK, now())
    cheat.raw = b" " * 2_000_000
    with pytest.raises(OpenIdRefused, match="too large"):
        provider.finish(challenge, BACK, {"state": challenge.state, "code": "c"}, now())


def test_a_new_key_of_the_provider_is_learned(cheat: Cheat) -> None:
    provider = Provider(settings_of(cheat.issuer, oidc_default_role="reader"))
    finish(cheat, provider)
    cheat.key = RSAKey.generate_key(2048, {"kid": "2", "use": "sig"})
    cheat.make = lambda cheat, claims: jwt.encode({"alg": "RS256", "kid": "2"}, claims, cheat.key)
    _, challenge = provider.begin(BACK, now())
    cheat.nonce = challenge.nonce
    later = (
        now() + 61 * 10**6
    )  # keys are asked for anew once a minute, so that strange tokens cost the provider nothing
    assert provider.finish(challenge, BACK, {"state": challenge.state, "code": "c"}, later).subject == "4711"


@pytest.mark.parametrize(
    ("claims", "role"),
    [
        ({"realm_access": {"roles": ["web-archive"]}}, Role.CURATOR),
        ({"realm_access": {"roles": ["web-archive", "it", 7, None, {}]}}, Role.ADMINISTRATOR),
        ({"realm_access": {"roles": "it"}}, Role.ADMINISTRATOR),
        ({"realm_access": {"roles": ["It"]}}, None),
        ({"realm_access": []}, None),
        ({"realm_access.roles": ["it"]}, None),
        ({}, None),
    ],
)
def test_the_highest_role_of_the_claims_wins(claims: dict[str, Any], role: Role | None) -> None:
    assert role_of(claims, settings_of("https://id.example", **ROLES)) == role


def test_without_a_claim_everybody_gets_the_default_role() -> None:
    assert role_of({}, settings_of("https://id.example", oidc_default_role="reader")) == Role.READER
    assert role_of({}, settings_of("https://id.example")) is None


# ---- users --------------------------------------------------------------------------------------------------------

ANNA = ProviderIdentity("https://id.example", "4711", "anna", "Anna", "anna@example.org", "UTC", Role.CURATOR)


def test_name_and_address_of_another_user_give_nobody_that_user(database: Database) -> None:
    add_person(database, "anna", Role.ADMINISTRATOR, "anna@example.org")
    login = log_in_by_openid(database, replace(ANNA, role=Role.READER))
    actor = actor_of(database, login.cookie)
    assert actor is not None
    assert (actor.name, actor.role) == ("anna-2", Role.READER)
    other = log_in_by_openid(database, replace(ANNA, issuer="https://other.example"))
    assert other.name == "anna-3"


@pytest.mark.parametrize(
    ("claimed", "name"),
    [
        ("", "user"),
        ("Ånna Bérg", "nna-b-rg"),
        ("scheduler", "scheduler-user"),
        ("New", "new-user"),
        ("<script>", "script"),
        ("\u202e\0", "user"),
        ("x" * 10_000, "x" * 50),
        ("../../etc", "etc"),
    ],
)
def test_a_claimed_name_becomes_a_login_name(sqlite_database: Database, claimed: str, name: str) -> None:
    add_person(sqlite_database, "root")
    odd = replace(ANNA, name=claimed, full_name="a\r\nb", email="a@b\r\nBcc: c", zone="Mars")
    assert log_in_by_openid(sqlite_database, odd).name == name
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        user = transaction.session.scalars(select(User).where(User.name == name)).one()
        assert (user.full_name, user.email, user.zone) == ("", "", "UTC")


def test_who_has_no_role_or_was_deactivated_stays_outside(database: Database) -> None:
    with pytest.raises(OpenIdRefused, match="the first user is made by the link"):
        log_in_by_openid(database, ANNA)
    add_person(database, "root", Role.ADMINISTRATOR)
    with pytest.raises(OpenIdRefused, match="none of your groups has a role"):
        log_in_by_openid(database, replace(ANNA, role=None))
    name = log_in_by_openid(database, ANNA).name
    with database.transaction(COMMAND_LINE) as transaction:
        deactivate_user(transaction, name)
    with pytest.raises(OpenIdRefused, match="was deactivated"):
        log_in_by_openid(database, ANNA)


def test_the_role_follows_the_claims_except_of_the_last_administrator(database: Database) -> None:
    database.settings = database.settings.model_copy(update={"people": settings_of("https://id.example", **ROLES)})
    root = person(database, "root", Role.ADMINISTRATOR)
    first = log_in_by_openid(database, ANNA).cookie
    second = log_in_by_openid(database, replace(ANNA, role=Role.ADMINISTRATOR)).cookie
    assert actor_of(database, first) is None
    raised = actor_of(database, second)
    assert raised is not None
    assert raised.role == Role.ADMINISTRATOR
    with database.transaction(raised) as transaction:
        deactivate_user(transaction, root.name)
    stays = actor_of(database, log_in_by_openid(database, replace(ANNA, role=Role.READER)).cookie)
    assert stays is not None
    assert stays.role == Role.ADMINISTRATOR
    with pytest.raises(OpenIdRefused):
        log_in_by_openid(database, replace(ANNA, role=None))


def test_a_user_links_an_identity_and_logs_in_by_both(database: Database) -> None:
    anna = person(database, "anna", Role.ADMINISTRATOR)
    with database.transaction(anna) as transaction:
        link_identity(transaction, ANNA)
    assert log_in_by_openid(database, ANNA).user_id == anna.user_id
    assert log_in(database, "anna", PASSWORD).user_id == anna.user_id
    with (
        pytest.raises(UseCaseError, match="belongs to another"),
        database.transaction(person(database, "bert")) as transaction,
    ):
        link_identity(transaction, ANNA)
    with pytest.raises(Forbidden), database.transaction(Actor("anna", Role.ADMINISTRATOR, Door.API)) as transaction:
        link_identity(transaction, ANNA)
    with database.transaction(anna) as transaction:
        unlink_identity(transaction)
    assert log_in_by_openid(database, ANNA).user_id != anna.user_id


def test_the_only_way_to_log_in_is_not_given_up(database: Database) -> None:
    add_person(database, "root")
    actor = actor_of(database, log_in_by_openid(database, ANNA).cookie)
    assert actor is not None
    with pytest.raises(IllegalState, match="you have no password"), database.transaction(actor) as transaction:
        unlink_identity(transaction)


# ---- settings -----------------------------------------------------------------------------------------------------


def test_a_provider_that_is_not_set_or_has_no_secret_file_is_said() -> None:
    with pytest.raises(OpenIdRefused, match=r"set people\.oidc_issuer"):
        Provider(PeopleSettings())
    provider = Provider(PeopleSettings(oidc_issuer="http://127.0.0.1:1", oidc_client_id="x"))
    with pytest.raises(OpenIdRefused, match="can't be asked"):
        provider.begin(BACK, now())


def test_the_secret_may_stand_in_a_file(cheat: Cheat, tmp_path: Any) -> None:
    (tmp_path / "secret").write_text("\ufeffgeheimer\r\n", "utf-8")
    cheat.document = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    finish(cheat, oidc_client_secret_file=str(tmp_path / "secret"))
    assert cheat.form["client_secret"] == "geheimer"
    for odd in (tmp_path / "none", tmp_path):
        with pytest.raises(OpenIdRefused, match="oidc_client_secret_file"):
            finish(cheat, oidc_client_secret_file=str(odd))


@pytest.mark.parametrize(
    "values",
    [
        {"people.oidc_issuer": "http://id.example.org"},
        {"people.oidc_issuer": "https://id.example.org?x=1"},
        {"people.oidc_issuer": "id.example.org"},
        {"people.oidc_scopes": "profile"},
        {"people.oidc_roles": {"a": "king"}},
        {"people.oidc_default_role": "king"},
        {"people.password_min_length": 3},
    ],
)
def test_settings_that_can_not_work_are_refused_at_start(values: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=f"setting {next(iter(values))}"):
        load(values, environment={})
