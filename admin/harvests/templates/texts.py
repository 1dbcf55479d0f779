"""Use cases: a text that is not kept yet is verified, shown as fields, and changed by its fields."""

from __future__ import annotations

from admin.harvests.input_checks import MOST_PROBLEMS
from admin.harvests.templates.data import ProblemView, TemplateKeys, TemplateText, TextEdit, Verification
from admin.harvests.templates.form_fields import fields_of, known_fields, with_values
from admin.harvests.templates.verification import problems_of
from admin.models.errors import InvalidInput
from admin.models.transaction import Right, Transaction


def verify_text(transaction: Transaction, given: TemplateText) -> Verification:
    """Return what keeps a text from being a template, and its values as fields. Nothing is kept."""
    transaction.require(Right.CURATE)
    return _verified(given.text)


def edit_text(transaction: Transaction, given: TextEdit) -> Verification:
    """Return the text with changed values, and what is wrong with it then. Nothing is kept.

    Raises InvalidInput for keys that templates don't have, and for a text that is no YAML.
    """
    transaction.require(Right.CURATE)
    return _verified(with_values(given.text, given.set, given.unset))


def list_keys(transaction: Transaction) -> TemplateKeys:
    """Return every key that a template may have, with its kind, bounds, default, and whether jobs set it."""
    transaction.require(Right.READ)
    return TemplateKeys(fields=list(known_fields()))


def _verified(text: str) -> Verification:
    problems = problems_of(text)
    try:
        fields = fields_of(text)
    except InvalidInput:
        fields = []
    return Verification(
        is_valid=not problems,
        problems=[ProblemView.model_validate(each) for each in problems[:MOST_PROBLEMS]],
        text=text,
        fields=fields,
    )
