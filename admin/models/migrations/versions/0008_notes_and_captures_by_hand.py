"""This migration adds notes of capture sessions, secrets that responses show, and repairs by hand."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008capture"
down_revision = "0007"
branch_labels = None
depends_on = None
_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the change."""
    op.create_table(
        "capture_notes",
        sa.Column("id", _KEY, autoincrement=True, nullable=False),
        sa.Column("session_id", _KEY, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("written", sa.BigInteger(), nullable=False),
        sa.Column("written_by", sa.String(length=255), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["capture_sessions.id"],
            name=op.f("fk_capture_notes_session_id_capture_sessions"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_capture_notes")),
    )
    op.create_index("ix_capture_notes_session_id", "capture_notes", ["session_id", "id"])
    for name in ("secret_fields", "shown_secrets"):
        column = sa.Column(name, sa.JSON(none_as_null=True), server_default=sa.text("'[]'"), nullable=False)
        op.add_column("capture_sessions", column)
    with op.batch_alter_table("qa_repairs") as batch:
        batch.add_column(sa.Column("capture_session_id", _KEY, nullable=True))
        batch.create_foreign_key(
            op.f("fk_qa_repairs_capture_session_id_capture_sessions"),
            "capture_sessions",
            ["capture_session_id"],
            ["id"],
            ondelete="CASCADE",
        )
    op.create_index("ix_qa_repairs_capture_session_id", "qa_repairs", ["capture_session_id"])
    op.create_index("ix_qa_repair_parts_page_id", "qa_repair_parts", ["page_id"])
