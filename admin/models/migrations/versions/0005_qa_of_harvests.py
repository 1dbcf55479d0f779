"""This migration lets a harvest have its runs judged by QA sessions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the change."""
    op.add_column("harvests", sa.Column("qa_sample", sa.Text(), server_default="", nullable=False))
    op.add_column("harvests", sa.Column("qa_follows", sa.Boolean(), server_default=sa.false(), nullable=False))
