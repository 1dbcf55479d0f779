"""The sites without a licence in force are written to a file, which replay, viewer, CDX server and packages obey.

The file is made anew after each change of a permission, and holds for all collections of the home. A permission that
expires later has its moment in the rule, so that nothing has to be written then.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlalchemy import select

from admin.models.curation_tables import PermissionState, SitePermission
from admin.models.errors import IllegalState
from admin.models.people_tables import InstallationValue
from admin.models.transaction import Transaction
from archive.access_rules import LICENCE_FILE, Access, AccessRule, AccessRules, Period
from archive.file_lock import locked_folder
from archive.files import make_folder

_LOCK: Final = "curation.licences"


def licence_rules(permissions: Iterable[SitePermission]) -> AccessRules:
    """Return the rules that these permissions mean: refused sites are blocked, granted ones until they expire. Pure."""
    rules = []
    for each in permissions:
        if each.state in (PermissionState.REFUSED, PermissionState.WITHDRAWN):
            rules.append(AccessRule(each.prefix, Access.BLOCK, url=each.site))
        elif each.state == PermissionState.GRANTED and each.granted_until is None:
            rules.append(AccessRule(each.prefix, Access.ALLOW, url=each.site))
        elif each.state == PermissionState.GRANTED:
            rules.append(AccessRule(each.prefix, Access.ALLOW, period=Period(until=each.granted_until), url=each.site))
            rules.append(AccessRule(each.prefix, Access.BLOCK, period=Period(since=each.granted_until), url=each.site))
    return AccessRules(rules)


def lock_licences(transaction: Transaction) -> None:
    """Let nobody else change permissions until the transaction ends, so that the file has all of them."""
    session = transaction.session
    row = session.scalars(
        select(InstallationValue).where(InstallationValue.name == _LOCK).with_for_update()
    ).one_or_none()
    if row is None:
        session.add(InstallationValue(name=_LOCK, value=""))
        session.flush()


def write_licences(transaction: Transaction) -> None:
    """Write the file. The caller holds the lock. Raises IllegalState."""
    transaction.session.flush()  # what the database refuses must not be found out after the file was written
    rows = transaction.session.scalars(select(SitePermission)).all()
    folder = transaction.settings.home / "collections"
    try:
        make_folder(folder)
        with locked_folder(folder):
            licence_rules(rows).save(folder / LICENCE_FILE)
    except OSError as error:
        raise IllegalState(f"the licences can't be written for readers: {error.strerror}") from error
