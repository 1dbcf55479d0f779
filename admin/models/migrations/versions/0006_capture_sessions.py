"""This migration adds the tables of capture sessions and their pages."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None
_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the change."""
    op.create_table(
        "capture_sessions",
        sa.Column("id", _KEY, autoincrement=True, nullable=False),
        sa.Column("collection", sa.String(length=255), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("owner", sa.String(length=255), nullable=False),
        sa.Column(
            "door",
            sa.Enum("window", "own-browser", "screen", name="capturedoor", native_enum=False, length=32),
            nullable=False,
        ),
        sa.Column(
            "state",
            sa.Enum("open", "paused", "ending", "ended", name="capturestate", native_enum=False, length=32),
            nullable=False,
        ),
        sa.Column("proxy_session", sa.String(length=255), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("ended", sa.BigInteger(), nullable=True),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.Column("keeps_secrets", sa.Boolean(), nullable=False),
        sa.Column("keeps_cookies", sa.Boolean(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("heard", sa.BigInteger(), nullable=True),
        sa.Column("urls", sa.BigInteger(), nullable=False),
        sa.Column("novel", sa.BigInteger(), nullable=False),
        sa.Column("known", sa.BigInteger(), nullable=False),
        sa.Column("failed", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("pages", sa.BigInteger(), nullable=False),
        sa.Column("last_kept", sa.BigInteger(), nullable=True),
        sa.Column("error", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_capture_sessions")),
    )
    op.create_index("ix_capture_sessions_state", "capture_sessions", ["state", "id"])
    op.create_index("ix_capture_sessions_collection_id", "capture_sessions", ["collection", "id"])
    op.create_table(
        "capture_pages",
        sa.Column("id", _KEY, autoincrement=True, nullable=False),
        sa.Column("session_id", _KEY, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("mime", sa.String(length=255), nullable=False),
        sa.Column("captured", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["capture_sessions.id"],
            name=op.f("fk_capture_pages_session_id_capture_sessions"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_capture_pages")),
        sa.UniqueConstraint("session_id", "number", name=op.f("uq_capture_pages_session_id_number")),
    )
