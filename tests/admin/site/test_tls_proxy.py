"""HAProxy and nginx speak TLS in front of the admin site: cookies, links, addresses and live pages are right outside.

HAProxy runs with the file in `deploy`, nginx with the lines in the deploy guide.
"""

from __future__ import annotations

import re
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select
from support.origins.raw_origin import certificate_authority
from support.processes.machine_needs import free_port, program
from support.processes.waiting import until
from support.web.openid_provider import running_provider
from support.web.site_server import PASSWORD, RunningSite, running_site, send_form

from admin.models.database import Database
from admin.models.people_tables import AuditEntry, Role
from admin.models.transaction import COMMAND_LINE
from admin.web.page import SESSION_COOKIE
from archive.dates import now_micros

ROOT = Path(__file__).resolve().parents[3]
FILE = ROOT / "deploy" / "haproxy" / "admin.cfg"
GUIDE = ROOT / "docs" / "how-to" / "deploy.md"
NAME = "archive.test"
AUTHORITY = certificate_authority()
NGINX = """
daemon off;
pid {folder}/nginx.pid;
error_log stderr;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{tls} ssl;
    ssl_certificate {folder}/cert.pem;
    ssl_certificate_key {folder}/cert.pem;
    {location}
  }}
}}
"""
"""A configuration around the location of the guide."""


def certificate(folder: Path) -> Path:
    """The file with certificate and key."""
    AUTHORITY.issue_cert(NAME).private_key_and_cert_chain_pem.write_to_path(folder / "cert.pem")
    return folder / "cert.pem"


def configuration(folder: Path, site: str, plain: int, tls: int) -> Path:
    """The file as deployed, but for ports, the certificate and the address of the site."""
    text = FILE.read_text("utf-8").replace("/etc/haproxy/archive.example.org.pem", str(certificate(folder)))
    text = text.replace("bind :80", f"bind 127.0.0.1:{plain}").replace("bind :443", f"bind 127.0.0.1:{tls}")
    config = folder / "admin.cfg"
    config.write_text(text.replace("127.0.0.1:8080", site.removeprefix("http://")), "utf-8")
    return config


def nginx_configuration(folder: Path, site: str, tls: int) -> Path:
    """The location of the guide, but for the address of the site, in a server with a certificate."""
    certificate(folder)
    (location,) = re.findall(r"```nginx\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    location = location.replace("127.0.0.1:8080", site.removeprefix("http://"))
    config = folder / "nginx.conf"
    config.write_text(NGINX.format(folder=folder, tls=tls, location=location), "utf-8")
    return config


class Front:
    """The site, and a TLS proxy in front of it."""

    def __init__(self, site: RunningSite, tls: int, plain: int) -> None:
        self.site, self.tls, self.plain = site, tls, plain

    def client(self, **headers: str) -> httpx.Client:
        """A browser that knows the name of the site by another way than DNS."""
        trusting = ssl.create_default_context()
        AUTHORITY.configure_trust(trusting)
        trusting.check_hostname = False
        headers = {"Host": f"{NAME}:{self.tls}", **headers}
        return httpx.Client(base_url=f"https://127.0.0.1:{self.tls}", verify=trusting, headers=headers, timeout=60)


@pytest.fixture
def issuer(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    with running_provider(user_claims=[]) as address:
        yield address


@pytest.fixture(params=["haproxy", "nginx"])
def front(request: pytest.FixtureRequest, sqlite_database: Database, tmp_path: Path, issuer: str) -> Iterator[Front]:
    command = program(request.param, f"apt-get install {request.param}")
    sqlite_database.clock = now_micros
    tls, plain = free_port(), free_port()
    settings = {
        "admin.public_url": f"https://{NAME}:{tls}",
        "admin.trusted_proxies": "127.0.0.0/8",
        "people.oidc_issuer": issuer,
        "people.oidc_client_id": "ghostfleet",
    }
    with running_site(sqlite_database, tmp_path / "home", settings) as site:
        if request.param == "nginx":
            options = ["-p", str(tmp_path), "-c", str(nginx_configuration(tmp_path, site.address, tls))]
        else:
            options = ["-db", "-f", str(configuration(tmp_path, site.address, plain, tls))]
        with (tmp_path / "log").open("wb") as log:
            process = subprocess.Popen([command, *options], stdout=log, stderr=log)
        try:
            found = Front(site, tls, plain)

            def answers() -> bool:
                assert process.poll() is None, (tmp_path / "log").read_text()
                try:
                    with found.client() as client:
                        return client.get("/login").status_code == 200
                except httpx.TransportError:
                    return False

            until(answers, what="the site behind the TLS proxy", within=60)
            yield found
        finally:
            process.terminate()  # nginx ends its workers then
            process.wait(30)


def test_haproxy_understands_the_file(tmp_path: Path) -> None:
    config = configuration(tmp_path, "http://127.0.0.1:8080", free_port(), free_port())
    command = [program("haproxy", "apt-get install haproxy"), "-c", "-f", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, re.findall(r"\[(?:ALERT|WARNING)\].*", done.stderr)) == (0, [])


def test_a_person_logs_in_by_tls_and_links_lead_back(front: Front) -> None:
    origin = f"https://{NAME}:{front.tls}"
    with front.client(Origin=origin) as client:
        values = {"name": "anna", "password": PASSWORD, "repeated": PASSWORD, "zone": "UTC"}
        answer = send_form(client, front.site.link(Role.ADMINISTRATOR), **values)
        assert answer.status_code == 303, answer.text
        cookies = {each.partition("=")[0]: each for each in answer.headers.get_list("Set-Cookie")}
        assert "; Secure" in cookies[SESSION_COOKIE]
        assert "; Secure" in client.get("/login").headers["Set-Cookie"], "the cookie of forms"
        assert "max-age" in answer.headers["Strict-Transport-Security"]
        invited = send_form(client, "/users", role="reader")
        assert f"{origin}/welcome/" in invited.text
        with client.stream("GET", "/live/overview") as stream:
            assert next(stream.iter_lines()) == "retry: 5000"
        begun = client.get("/login/openid")
        assert httpx.URL(begun.headers["Location"]).params["redirect_uri"] == f"{origin}/login/openid/back"
        assert "; Secure" in begun.headers["Set-Cookie"]
        from_plain = client.post("/logout", headers={"Origin": origin.replace("https", "http")})
        assert from_plain.status_code == 403
        other = client.get("/jobs", headers={"Host": "evil.test"})
        assert other.status_code == 421
        stream = client.get("/live/overview", headers={"Host": "evil.test", "Origin": "https://evil.test"})
        assert stream.status_code == 421


@pytest.mark.parametrize("front", ["haproxy"], indirect=True)
def test_plain_http_leads_to_tls(front: Front) -> None:
    answer = httpx.get(f"http://127.0.0.1:{front.plain}/jobs", headers={"Host": NAME})
    assert (answer.status_code, answer.headers["Location"]) == (308, f"https://{NAME}/jobs")


def test_the_local_address_keeps_working_without_tls(front: Front) -> None:
    with front.site.client(Role.ADMINISTRATOR) as client:
        assert client.get("/jobs").status_code == 200
        assert client.get("/login/openid").headers["Location"].count("redirect_uri=http%3A%2F%2F127.0.0.1") == 1


def test_the_audit_has_the_address_of_the_client_and_not_of_the_proxy(front: Front) -> None:
    """A client's own header has no effect through the proxy; a trusted proxy's header names the client."""
    with front.client(**{"X-Forwarded-For": "192.0.2.99"}) as client:
        send_form(
            client, front.site.link(Role.ADMINISTRATOR), name="anna", password=PASSWORD, repeated=PASSWORD, zone="UTC"
        )
    with httpx.Client(base_url=front.site.address, headers={"X-Forwarded-For": "192.0.2.7, 127.0.0.9"}) as client:
        send_form(client, front.site.link(Role.READER), name="bert", password=PASSWORD, repeated=PASSWORD, zone="UTC")
    with httpx.Client(base_url=front.site.address, headers={"X-Forwarded-For": "<script>"}) as client:
        send_form(client, front.site.link(Role.READER), name="carl", password=PASSWORD, repeated=PASSWORD, zone="UTC")
    with front.site.database.transaction(COMMAND_LINE) as transaction:
        rows = transaction.session.execute(select(AuditEntry.actor, AuditEntry.address)).all()
    assert {("anna", "127.0.0.1"), ("bert", "192.0.2.7"), ("carl", "127.0.0.1")} <= set(rows)
    assert not [address for _, address in rows if address in ("192.0.2.99", "<script>")]
