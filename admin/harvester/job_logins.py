"""The passwords of a job's domains become stored logins, which the crawl uses and which are deleted at its end.

A password leaves the database for the encrypted store of browser profiles alone. The job's profile has the names of the
logins. A link that ends a session is not followed at a site with a password, since all later pages would be those of
a stranger.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from admin.harvests.domains.passwords import DomainLogin
from archive.dates import now_micros
from archive.url import host_of
from browsers.engines.interface import HttpCredentials
from browsers.logins.browser_profile import BrowserProfile, LoginRecipe
from browsers.logins.profile_store import ProfileStore

_ENDS_SESSION: Final = (
    r"[/?&=;._-](?i:(?:log|sign)[-_]?(?:out|off)|ausloggen|abmelden|d[eé]connexion|deconnecter)(?![A-Za-z])"
)


def with_logins(home: Path, job_id: int, profile: dict[str, Any], logins: Sequence[DomainLogin]) -> dict[str, Any]:
    """Store the logins of a job, and return its profile with their names. Raises ProfileUnusable."""
    if not logins:
        return profile
    store, names = ProfileStore(home), []
    for number, each in enumerate(logins, 1):
        name = f"{_prefix(job_id)}{number}"
        store.save(
            BrowserProfile(
                name,
                each.url,
                now_micros(),
                http=HttpCredentials("", "", "", realm=each.realm) if each.realm else None,
                recipe=LoginRecipe(each.username, each.secret),
            )
        )
        names.append(name)
    hosts = dict.fromkeys(host_of(each.url) for each in logins)
    ends = [rf"^https?://{re.escape(host)}(?=/).*{_ENDS_SESSION}" for host in hosts]
    return profile | {
        "logins": [*profile.get("logins", ()), *names],
        "exclude": [*profile.get("exclude", ()), *ends],
    }


def forget_logins(home: Path, job_id: int) -> None:
    """Delete the stored logins of a job."""
    store = ProfileStore(home)
    for name in store.names():
        if name.startswith(_prefix(job_id)):
            store.delete(name)


def _prefix(job_id: int) -> str:
    return f"harvest-job-{job_id}."
