"""This migration adds what a job did not capture, and the number of its domains without a good answer."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the change."""
    op.add_column("jobs", sa.Column("gaps", sa.Text(), server_default="", nullable=False))
    op.add_column("jobs", sa.Column("unanswered_domains", sa.BigInteger(), server_default="0", nullable=False))
    op.create_index(
        "ix_jobs_unanswered_domains",
        "jobs",
        ["id"],
        unique=False,
        sqlite_where=sa.text("unanswered_domains > 0"),
        postgresql_where=sa.text("unanswered_domains > 0"),
    )
