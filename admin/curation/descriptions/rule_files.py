"""Curation writes the access rules of a collection to a file, which replay, viewer, CDX server and packages obey.

The file is made anew from the database after each change. A transaction can't take the change of a file back: the file
is written last. `write_rules` repairs a file that a broken transaction left behind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from sqlalchemy import select

from admin.collections.description_file import CollectionDescription, write_description
from admin.models.curation_tables import CurationDescription, CurationExclusion, CurationState
from admin.models.errors import IllegalState
from admin.models.transaction import Transaction
from archive.access_rules import CURATION_FILE, Access, AccessRule, AccessRules, Period, rule_for
from archive.file_lock import locked_folder
from archive.files import make_folder
from archive.loose_key import loose_key

_PATH_OF_A_DOMAIN: Final = re.compile(r"\A(\*\.(?:\w+://)?[^/?]*)[/?].*")
"""Earlier releases stored exclusions such as `*.example.org/private/`, and excluded the whole domain."""


def curation_rules(descriptions: Iterable[CurationDescription], exclusions: Iterable[CurationExclusion]) -> AccessRules:
    """Return the rules that these rows of one collection mean: each rule hides captures. Pure."""
    rules: list[AccessRule] = []
    state = CurationState.DRAFT
    for each in descriptions:
        if not each.url:
            state = each.state
        key, is_exact, at = (loose_key(each.url), True, each.date) if each.url else ("", False, None)
        if each.state == CurationState.REJECTED:
            rules.append(AccessRule(key, Access.EXCLUDE, is_exact, Period(at=at), each.url))
        if each.embargo_until is not None:
            period = Period(at=at, until=each.embargo_until)
            rules.append(AccessRule(key, Access.EXCLUDE, is_exact, period, each.url))
    rules += [rule_for(_PATH_OF_A_DOMAIN.sub(r"\1", each.url), Access.EXCLUDE) for each in exclusions]
    return AccessRules(rules, state=str(state))


def write_rules(transaction: Transaction, collection: str) -> None:
    """Write the file with the rules of a collection, and the file with its description. Raises IllegalState.

    The caller holds the lock of the collection's description.
    """
    session = transaction.session
    session.flush()  # what the database refuses must not be found out after the file was written
    rows = session.scalars(select(CurationDescription).where(CurationDescription.collection == collection)).all()
    hidden = session.scalars(select(CurationExclusion).where(CurationExclusion.collection == collection)).all()
    folder = transaction.settings.collection(collection)
    own = next((each for each in rows if not each.url), None)
    try:
        make_folder(folder)
        with locked_folder(folder):
            curation_rules(rows, hidden).save(folder / CURATION_FILE)
            if own is not None:
                write_description(folder, CollectionDescription(own.dublin_core, own.tags))
    except OSError as error:
        raise IllegalState(f"the rules of {collection} can't be written: {error.strerror}") from error
