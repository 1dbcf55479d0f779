"""Forms have an input for each extended field of the installation, named by the field's number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from admin.harvests.domains.extended_fields import FieldView, list_fields
from admin.models.transaction import Transaction


class ExtendedInputs:
    """Extended inputs turn values of extended fields into inputs of a form, and back."""

    def __init__(self, transaction: Transaction, entity: str) -> None:
        """Read the fields of domains or harvests."""
        self.fields: list[FieldView] = list_fields(transaction, entity=entity).items
        self.places = {f"extended.{each.name}": _input(each) for each in self.fields}
        """For `Form`: the input beside which a problem of a field stands."""

    def values(self, present: Mapping[str, str]) -> dict[str, str]:
        """Return the values of the inputs; a field without a value shows its default."""
        return {_input(each): present.get(each.name, each.default) for each in self.fields}

    def given(self, sent: Mapping[str, Any], present: Mapping[str, str]) -> dict[str, str]:
        """Return the values that a person changed, by the field's name; others keep what they have."""
        found: dict[str, str] = {}
        for each in self.fields:
            typed = str(sent.get(_input(each), present.get(each.name, ""))).replace("\r\n", "\n")
            if typed != present.get(each.name, ""):
                found[each.name] = typed
        return found

    def without(self, sent: Mapping[str, Any]) -> dict[str, Any]:
        """Return what was sent apart from the inputs of extended fields."""
        return {key: value for key, value in sent.items() if not key.startswith("extended-")}


def _input(field: FieldView) -> str:
    return f"extended-{field.id}"
