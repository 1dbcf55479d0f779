"""This migration adds the tables of curation, and the permission that a harvest needs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the change."""
    op.create_table(
        "curation_descriptions",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("collection", sa.String(length=255), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("url_sha256", sa.String(length=255), nullable=False),
        sa.Column("date", sa.BigInteger(), nullable=False),
        sa.Column(
            "state",
            sa.Enum(
                "draft",
                "in-review",
                "endorsed",
                "approved",
                "rejected",
                name="curationstate",
                native_enum=False,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("embargo_until", sa.BigInteger(), nullable=True),
        sa.Column("dublin_core", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("tags", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("changed", sa.BigInteger(), nullable=False),
        sa.Column("changed_by", sa.String(length=255), nullable=False),
        sa.Column("edition", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_curation_descriptions")),
        sa.UniqueConstraint(
            "collection", "url_sha256", "date", name=op.f("uq_curation_descriptions_collection_url_sha256_date")
        ),
    )
    op.create_index(op.f("ix_curation_descriptions_state"), "curation_descriptions", ["state"], unique=False)
    op.create_table(
        "curation_exclusions",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("collection", sa.String(length=255), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("key_sha256", sa.String(length=255), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.String(length=255), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_curation_exclusions")),
        sa.UniqueConstraint("collection", "key_sha256", name=op.f("uq_curation_exclusions_collection_key_sha256")),
    )
    op.create_table(
        "letter_templates",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("edition", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_letter_templates")),
        sa.UniqueConstraint("name", name=op.f("uq_letter_templates_name")),
    )
    op.create_table(
        "site_permissions",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("site", sa.Text(), nullable=False),
        sa.Column("prefix", sa.Text(), nullable=False),
        sa.Column(
            "state",
            sa.Enum("asked", "granted", "refused", "withdrawn", name="permissionstate", native_enum=False, length=32),
            nullable=False,
        ),
        sa.Column("granted_until", sa.BigInteger(), nullable=True),
        sa.Column("contact", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("licence", sa.Text(), nullable=False),
        sa.Column("licence_url", sa.Text(), nullable=False),
        sa.Column("notes", sa.Text(), nullable=False),
        sa.Column("asked", sa.BigInteger(), nullable=True),
        sa.Column("changed", sa.BigInteger(), nullable=False),
        sa.Column("edition", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_site_permissions")),
        sa.UniqueConstraint("site", name=op.f("uq_site_permissions_site")),
    )
    op.create_index(op.f("ix_site_permissions_state"), "site_permissions", ["state"], unique=False)
    op.create_table(
        "tray_assignments",
        sa.Column("entry", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("entry", name=op.f("pk_tray_assignments")),
    )
    op.create_table(
        "tray_marks",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("person", sa.String(length=255), nullable=False),
        sa.Column("entry", sa.Text(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tray_marks")),
        sa.UniqueConstraint("person", "entry", name=op.f("uq_tray_marks_person_entry")),
    )
    op.create_table(
        "domain_tags",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("domain_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tag", sa.String(length=255), nullable=False),
        sa.ForeignKeyConstraint(
            ["domain_id"], ["domains.id"], name=op.f("fk_domain_tags_domain_id_domains"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_domain_tags")),
        sa.UniqueConstraint("domain_id", "tag", name=op.f("uq_domain_tags_domain_id_tag")),
    )
    op.create_index(op.f("ix_domain_tags_tag"), "domain_tags", ["tag"], unique=False)
    op.create_table(
        "permission_events",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("permission_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.String(length=255), nullable=False),
        sa.Column("what", sa.String(length=255), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["permission_id"],
            ["site_permissions.id"],
            name=op.f("fk_permission_events_permission_id_site_permissions"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_permission_events")),
    )
    op.create_index(op.f("ix_permission_events_permission_id"), "permission_events", ["permission_id"], unique=False)
    op.add_column("harvests", sa.Column("permission", sa.String(length=255), server_default="", nullable=False))
