"""This migration adds the tables of QA: sessions, their pages, decisions of reviewers, and repairs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the change."""
    op.create_table(
        "qa_sessions",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("collection", sa.String(length=255), nullable=False),
        sa.Column("job", sa.Text(), nullable=True),
        sa.Column(
            "state",
            sa.Enum(
                "waiting",
                "running",
                "stopping",
                "stopped",
                "done",
                "failed",
                name="qastate",
                native_enum=False,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("sample", sa.Text(), nullable=False),
        sa.Column(
            "choice",
            sa.Enum("spread", "size", "importance", "suspicion", name="pagechoice", native_enum=False, length=32),
            nullable=False,
        ),
        sa.Column("urls", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("follows", sa.Boolean(), nullable=False),
        sa.Column("mark", sa.BigInteger(), nullable=False),
        sa.Column("is_listed", sa.Boolean(), nullable=False),
        sa.Column("repair_id", sa.BigInteger(), nullable=True),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.String(length=255), nullable=False),
        sa.Column("started", sa.BigInteger(), nullable=True),
        sa.Column("ended", sa.BigInteger(), nullable=True),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("heard", sa.BigInteger(), nullable=True),
        sa.Column("pages", sa.BigInteger(), nullable=False),
        sa.Column("judged", sa.BigInteger(), nullable=False),
        sa.Column("unjudged", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.BigInteger(), nullable=False),
        sa.Column("lag_seconds", sa.BigInteger(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_qa_sessions")),
    )
    with op.batch_alter_table("qa_sessions", schema=None) as batch_op:
        batch_op.create_index("ix_qa_sessions_collection_id", ["collection", "id"], unique=False)
        batch_op.create_index("ix_qa_sessions_state", ["state", "id"], unique=False)

    op.create_table(
        "page_decisions",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("collection", sa.String(length=255), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("url_hash", sa.String(length=255), nullable=False),
        sa.Column("captured", sa.BigInteger(), nullable=False),
        sa.Column(
            "ruling",
            sa.Enum("accepted", "rejected", "repair", "note", "nothing", name="ruling", native_enum=False, length=32),
            nullable=False,
        ),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("assigned_to", sa.String(length=255), nullable=False),
        sa.Column("decided", sa.BigInteger(), nullable=False),
        sa.Column("decided_by", sa.String(length=255), nullable=False),
        sa.Column("session_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["qa_sessions.id"],
            name=op.f("fk_page_decisions_session_id_qa_sessions"),
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_page_decisions")),
    )
    with op.batch_alter_table("page_decisions", schema=None) as batch_op:
        batch_op.create_index("ix_page_decisions_assigned_to", ["assigned_to", "id"], unique=False)
        batch_op.create_index("ix_page_decisions_url", ["collection", "url_hash", "id"], unique=False)

    op.create_table(
        "qa_pages",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("session_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("url_hash", sa.String(length=255), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("page_id", sa.String(length=255), nullable=False),
        sa.Column("captured", sa.BigInteger(), nullable=False),
        sa.Column("is_rendered", sa.Boolean(), nullable=False),
        sa.Column(
            "state",
            sa.Enum("waiting", "taken", "judged", "unjudged", name="qapagestate", native_enum=False, length=32),
            nullable=False,
        ),
        sa.Column("taken_by", sa.Text(), nullable=False),
        sa.Column("taken_until", sa.BigInteger(), nullable=True),
        sa.Column("tries", sa.BigInteger(), nullable=False),
        sa.Column("judged", sa.BigInteger(), nullable=True),
        sa.Column("seconds", sa.BigInteger(), nullable=False),
        sa.Column("score", sa.BigInteger(), nullable=False),
        sa.Column("severity", sa.String(length=255), nullable=False),
        sa.Column("reasons", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("kinds", sa.Text(), nullable=False),
        sa.Column("measures", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("pictures", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"], ["qa_sessions.id"], name=op.f("fk_qa_pages_session_id_qa_sessions"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_qa_pages")),
        sa.UniqueConstraint("session_id", "url_hash", name=op.f("uq_qa_pages_session_id_url_hash")),
    )
    with op.batch_alter_table("qa_pages", schema=None) as batch_op:
        batch_op.create_index("ix_qa_pages_session_host", ["session_id", "host", "score"], unique=False)
        batch_op.create_index("ix_qa_pages_session_score", ["session_id", "score", "id"], unique=False)
        batch_op.create_index("ix_qa_pages_session_state", ["session_id", "state", "id"], unique=False)

    op.create_table(
        "qa_repairs",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("collection", sa.String(length=255), nullable=False),
        sa.Column("session_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("after_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column(
            "state",
            sa.Enum(
                "waiting",
                "running",
                "stopping",
                "stopped",
                "done",
                "failed",
                name="qastate",
                native_enum=False,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.String(length=255), nullable=False),
        sa.Column("started", sa.BigInteger(), nullable=True),
        sa.Column("ended", sa.BigInteger(), nullable=True),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("heard", sa.BigInteger(), nullable=True),
        sa.Column("error", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["after_id"], ["qa_sessions.id"], name=op.f("fk_qa_repairs_after_id_qa_sessions"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["session_id"], ["qa_sessions.id"], name=op.f("fk_qa_repairs_session_id_qa_sessions"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_qa_repairs")),
    )
    with op.batch_alter_table("qa_repairs", schema=None) as batch_op:
        batch_op.create_index("ix_qa_repairs_state", ["state", "id"], unique=False)

    op.create_table(
        "qa_repair_parts",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("repair_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("page_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("captured", sa.BigInteger(), nullable=False),
        sa.Column("resources", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("is_done", sa.Boolean(), nullable=False),
        sa.Column("outcomes", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("score_before", sa.BigInteger(), nullable=False),
        sa.Column("score_after", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["page_id"], ["qa_pages.id"], name=op.f("fk_qa_repair_parts_page_id_qa_pages"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["repair_id"], ["qa_repairs.id"], name=op.f("fk_qa_repair_parts_repair_id_qa_repairs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_qa_repair_parts")),
    )
    with op.batch_alter_table("qa_repair_parts", schema=None) as batch_op:
        batch_op.create_index("ix_qa_repair_parts_repair_id", ["repair_id", "id"], unique=False)
