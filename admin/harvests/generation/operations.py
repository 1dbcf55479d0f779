"""These operations are everything that people and programs can ask about the generation of jobs."""

from __future__ import annotations

from typing import Final

from admin.harvests.generation import explanation, preview
from admin.models.operation import Operation
from admin.models.transaction import Right

_TAGS: Final = ("harvests",)

OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        "harvest.preview",
        "GET",
        "/harvests/{name}/preview",
        Right.READ,
        preview.preview_run,
        "Tell what would be generated now, without generating it.",
        output=preview.RunPreview,
        tags=_TAGS,
    ),
    Operation(
        "harvest.explain",
        "GET",
        "/harvests/{name}/explanations/{domain}",
        Right.READ,
        explanation.explain_domain,
        "Tell why a domain is in its job, or why it is left out.",
        output=explanation.DomainExplanation,
        tags=_TAGS,
    ),
    Operation(
        "job.explain",
        "GET",
        "/jobs/{job_id}/explanations",
        Right.READ,
        explanation.explain_job,
        "List the domains of a job with their expectations and the reasons for their places.",
        output=explanation.PlaceInJob,
        is_list=True,
        tags=("jobs",),
    ),
)
