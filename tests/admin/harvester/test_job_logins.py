"""admin/harvester/job_logins.py: the passwords of a job become stored logins, and its links out of a session stay."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from admin.harvester.job_logins import forget_logins, with_logins
from admin.harvests.domains.passwords import DomainLogin
from browsers.logins.profile_store import ProfileStore
from frontier.definition.profile import make_profile

LOGIN = DomainLogin("a.org", "http://www.a.org/in", "Members", "anna", "s3cret")


def test_logins_are_stored_encrypted_named_in_the_profile_and_deleted_at_the_end(home: Path) -> None:
    home.mkdir(exist_ok=True)
    given = {"visitor": "plain", "exclude": ["/calendar/"], "logins": ["mine"]}
    profile = with_logins(home, 7, given, [LOGIN, LOGIN])
    assert with_logins(home, 8, {"hops": 1}, []) == {"hops": 1}
    names = ["harvest-job-7.1", "harvest-job-7.2"]
    assert profile["logins"] == ["mine", *names]
    assert make_profile(profile, "the test").logins == ("mine", *names)
    store = ProfileStore(home)
    assert store.names() == names
    recipe = store.load(names[0]).recipe
    assert recipe is not None
    assert (recipe.user, recipe.password) == ("anna", "s3cret")
    assert not any(b"s3cret" in path.read_bytes() for path in home.rglob("*") if path.is_file())
    forget_logins(home, 70)
    assert store.names() == names
    forget_logins(home, 7)
    assert store.names() == []


@pytest.mark.parametrize(
    ("path", "ends"),
    [
        ("/logout", True),
        ("/account/log-out.php?x=1", True),
        ("/index.php?action=signOff", True),
        ("/wiki/Special:UserLogout", False),
        ("/user_logout", True),
        ("/abmelden/", True),
        ("/blog-output/", False),
        ("/logoutput", False),
        ("/login", False),
    ],
)
def test_links_that_end_a_session_are_not_followed_on_the_host_of_a_login(home: Path, path: str, ends: bool) -> None:
    home.mkdir(exist_ok=True)
    patterns = with_logins(home, 7, {}, [LOGIN])["exclude"]
    assert any(re.search(each, f"https://www.a.org{path}") for each in patterns) is ends
    assert not any(re.search(each, f"https://www.b.org{path}") for each in patterns)
