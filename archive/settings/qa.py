"""The section `[qa]` controls QA sessions, which judge captured pages by their replay."""

from __future__ import annotations

from pydantic import Field

from archive.settings.values.base import Section


class QaSettings(Section):
    """These settings control QA sessions, repairs and the thresholds of judgements."""

    workers: int = Field(0, ge=0, le=256, description="Pages that are judged at a time. 0 is browsers.workers.")
    page_seconds: float = Field(
        0,
        ge=0,
        description="Longest visit of a page in replay. 0 is browsers.page_seconds. A page may be visited twice.",
    )
    tries: int = Field(2, ge=1, le=10, description="Tries of a page when a browser or a proxy ends meanwhile.")
    most_pages: int = Field(200_000, ge=1, description="Most pages of one QA session. A larger target needs a sample.")
    follow_seconds: float = Field(
        5, gt=0, le=60, description="How often a session that follows a crawl looks for new pages."
    )
    severe_score: int = Field(60, ge=0, le=100, description="A page with a lower score is severely damaged.")
    noticeable_score: int = Field(90, ge=0, le=100, description="A page with a lower score is noticeably damaged.")
    view_tolerance: float = Field(
        0.03, ge=0, le=1, description="Share of the window's picture that may differ without a finding."
    )
    full_page_tolerance: float = Field(
        0.05, ge=0, le=1, description="Share of the whole page's picture that may differ without a finding."
    )
    text_tolerance: float = Field(
        0.95, ge=0, le=1, description="Texts that are at least so similar (0 to 1) are no finding."
    )
    lost_links_share: float = Field(
        0.05, ge=0, le=1, description="Share of a page's links that the replay may lack without a finding."
    )
    skew_days: float = Field(
        30, ge=0, description="Days that a resource may be captured apart from its page without a finding."
    )
    script_error_points: float = Field(
        1,
        ge=0,
        le=100,
        description="Points for each error of a script that only the replay has. At most ten of a page count.",
    )
    process_seconds: float = Field(
        2, gt=0, le=60, description="How often the QA process looks for sessions and repairs that wait."
    )
