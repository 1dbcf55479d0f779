"""This migration adds the answers that harvesters give to questions about the queues of their jobs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the change."""
    op.add_column("job_commands", sa.Column("answer", sa.JSON(none_as_null=True), nullable=True))
