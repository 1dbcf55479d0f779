"""Commands of a home name the address at which its site runs."""

from __future__ import annotations

from pathlib import Path

from admin.fleet.installation_file import InstallationFile
from admin.fleet.site_address import published, site_url
from archive.settings.load import load


def test_links_lead_to_the_site_that_runs(home: Path) -> None:
    settings = load({"home": str(home), "admin.port": 8123}, environment={})
    public = load({"home": str(home), "admin.public_url": "https://archive.example.org"}, environment={})

    assert site_url(settings) == "http://127.0.0.1:8123"
    with published(home, "127.0.0.1:40001"):
        assert site_url(settings) == "http://127.0.0.1:40001"
        with published(home, "127.0.0.1:40002"):
            assert site_url(settings) == "http://127.0.0.1:40001"
        assert site_url(public) == "https://archive.example.org"
    assert site_url(settings) == "http://127.0.0.1:8123"
    with InstallationFile(home) as file:
        file.write({"admin": "127.0.0.1:40003"}, ())
        assert site_url(settings) == "http://127.0.0.1:40003"
