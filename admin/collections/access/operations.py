"""People and programs can show and change the access rules of collections in these ways."""

from __future__ import annotations

from typing import Final

from admin.collections.access import data, rules
from admin.models.operation import Operation
from admin.models.transaction import Right

_TAGS: Final = ("collection",)

OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        "access-rule.show-default",
        "GET",
        "/collections/{name}/access",
        Right.READ,
        rules.show_access,
        "Show what holds for captures without an access rule.",
        output=data.AccessView,
        tags=_TAGS,
    ),
    Operation(
        "access-rule.set-default",
        "PUT",
        "/collections/{name}/access",
        Right.CURATE,
        rules.change_default,
        "Change what holds for captures without an access rule, and the embargo.",
        input=data.AccessDefaultChange,
        output=data.AccessView,
        tags=_TAGS,
    ),
    Operation(
        "access-rule.list",
        "GET",
        "/collections/{name}/access/rules",
        Right.READ,
        rules.list_rules,
        "List the access rules of a collection.",
        output=data.AccessRuleView,
        is_list=True,
        tags=_TAGS,
    ),
    Operation(
        "access-rule.create",
        "POST",
        "/collections/{name}/access/rules",
        Right.CURATE,
        rules.create_rule,
        "Add an access rule, or replace the rule for the same URLs and dates.",
        input=data.AccessRuleCreation,
        output=data.AccessRuleView,
        status=201,
        tags=_TAGS,
    ),
    Operation(
        "access-rule.show",
        "GET",
        "/collections/{name}/access/rules/{rule}",
        Right.READ,
        rules.show_rule,
        "Show an access rule.",
        output=data.AccessRuleView,
        tags=_TAGS,
    ),
    Operation(
        "access-rule.change",
        "PUT",
        "/collections/{name}/access/rules/{rule}",
        Right.CURATE,
        rules.change_rule,
        "Change an access rule.",
        input=data.AccessRuleChange,
        output=data.AccessRuleView,
        tags=_TAGS,
    ),
    Operation(
        "access-rule.remove",
        "DELETE",
        "/collections/{name}/access/rules/{rule}",
        Right.CURATE,
        rules.remove_rule,
        "Remove an access rule.",
        status=204,
        tags=_TAGS,
    ),
    Operation(
        "access-rule.match",
        "GET",
        "/collections/{name}/access/match",
        Right.READ,
        rules.match,
        "Show what the access rules say about a capture of a URL.",
        output=data.AccessDecision,
        tags=_TAGS,
    ),
    Operation(
        "access-rule.upload",
        "POST",
        "/collections/{name}/access/upload",
        Right.CURATE,
        rules.upload_rules,
        "Add the rules of an access list of pywb.",
        input=data.AccessListUpload,
        output=data.AccessView,
        tags=_TAGS,
    ),
)
