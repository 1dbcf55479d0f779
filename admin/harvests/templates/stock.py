"""A fresh database gets the stock templates, which lie beside this module as YAML with a comment for each key."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import Final

from sqlalchemy import select

from admin.models.harvest_tables import Template, TemplateVersion
from admin.models.people_tables import InstallationValue
from admin.models.transaction import Right, Transaction

DEFAULT_TEMPLATE: Final = "default"
"""New domains are given this template."""
STOCK_TEMPLATES: Final = {
    DEFAULT_TEMPLATE: "All pages of a domain without JavaScript.",
    "chromium": "All pages of a domain in a browser, with JavaScript, scrolling and media.",
    "front-page": "The seeds alone, in a browser, with what they embed: for harvests every few hours.",
}
"""The names of the stock templates and their comments."""
_DONE: Final = "stock-templates"
"""The installation value that keeps a deleted stock template from coming back."""


@cache
def stock_text(name: str) -> str:
    """Return the text of a stock template."""
    return (resources.files(__package__) / "stock" / f"{name}.yaml").read_text("utf-8")


def install_stock(transaction: Transaction) -> tuple[str, ...]:
    """Make the stock templates, once for each database. Return the names of those that were made."""
    transaction.require(Right.CURATE)
    if transaction.session.get(InstallationValue, _DONE) is not None:
        return ()
    present = set(transaction.session.scalars(select(Template.name).where(Template.name.in_(STOCK_TEMPLATES))))
    made = tuple(name for name in STOCK_TEMPLATES if name not in present)
    for name in made:
        _make(transaction, name)
    transaction.session.add(InstallationValue(name=_DONE, value=",".join(STOCK_TEMPLATES)))
    transaction.session.flush()
    return made


def _make(transaction: Transaction, name: str) -> None:
    text = stock_text(name)
    digest = hashlib.sha256(text.encode()).hexdigest()
    template = Template(name=name, comments=STOCK_TEMPLATES[name], is_active=True, created=transaction.now, edition=1)
    template.versions.append(
        TemplateVersion(
            number=1,
            text=text,
            sha256=digest,
            comments="as shipped",
            created=transaction.now,
            created_by=transaction.actor.name,
        )
    )
    transaction.session.add(template)
    transaction.session.flush()
    transaction.audit("template.install", "template", template.id, name, new={"version": 1, "sha256": digest})
