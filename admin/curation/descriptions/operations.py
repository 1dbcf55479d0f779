"""People and programs can describe collections and captures in these ways."""

from __future__ import annotations

from typing import Final

from admin.curation.descriptions import describe, exclusions
from admin.models.operation import Operation
from admin.models.transaction import Right

_TAGS: Final = ("curation",)

OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        "description.list",
        "GET",
        "/descriptions",
        Right.READ,
        describe.list_descriptions,
        "List descriptions of collections and captures by state.",
        output=describe.DescriptionView,
        is_list=True,
        tags=_TAGS,
    ),
    Operation(
        "description.show",
        "GET",
        "/collections/{name}/description",
        Right.READ,
        describe.show_description,
        "Show the description of a collection.",
        output=describe.DescriptionView,
        tags=_TAGS,
    ),
    Operation(
        "description.change",
        "PATCH",
        "/collections/{name}/description",
        Right.CURATE,
        describe.describe_collection,
        "Describe a collection, and change its state or its embargo.",
        input=describe.DescriptionChange,
        output=describe.DescriptionView,
        tags=_TAGS,
    ),
    Operation(
        "description.show-capture",
        "GET",
        "/collections/{name}/capture-description",
        Right.READ,
        describe.show_capture_description,
        "Show the description of a capture.",
        output=describe.DescriptionView,
        tags=_TAGS,
    ),
    Operation(
        "description.change-capture",
        "PATCH",
        "/collections/{name}/capture-description",
        Right.CURATE,
        describe.describe_capture,
        "Describe a capture, and change its state or its embargo.",
        input=describe.DescriptionChange,
        output=describe.DescriptionView,
        tags=_TAGS,
    ),
    Operation(
        "description.rewrite-rules",
        "POST",
        "/collections/{name}/curation-rules",
        Right.CURATE,
        exclusions.rewrite_rules,
        "Write the rules of curation for a collection anew from the database.",
        status=204,
        tags=_TAGS,
    ),
    Operation(
        "exclusion.list",
        "GET",
        "/collections/{name}/exclusions",
        Right.READ,
        exclusions.list_exclusions,
        "List the URLs of a collection that are excluded from what readers see.",
        output=exclusions.ExclusionView,
        is_list=True,
        tags=_TAGS,
    ),
    Operation(
        "exclusion.create",
        "POST",
        "/collections/{name}/exclusions",
        Right.CURATE,
        exclusions.create_exclusion,
        "Exclude URLs of a collection by their beginning, with a reason.",
        input=exclusions.ExclusionCreation,
        output=exclusions.ExclusionView,
        status=201,
        tags=_TAGS,
    ),
    Operation(
        "exclusion.remove",
        "DELETE",
        "/collections/{name}/exclusions/{id}",
        Right.CURATE,
        exclusions.remove_exclusion,
        "Let readers see excluded URLs again.",
        status=204,
        tags=_TAGS,
    ),
)
