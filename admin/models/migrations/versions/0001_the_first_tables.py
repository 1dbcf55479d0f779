"""This migration makes the first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the change."""
    op.create_table(
        "audit_entries",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.String(length=255), nullable=False),
        sa.Column("door", sa.String(length=255), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("action", sa.String(length=255), nullable=False),
        sa.Column("entity", sa.String(length=255), nullable=False),
        sa.Column("entity_id", sa.Text(), nullable=False),
        sa.Column("entity_name", sa.Text(), nullable=False),
        sa.Column("old", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("new", sa.JSON(none_as_null=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entries")),
    )
    with op.batch_alter_table("audit_entries", schema=None) as batch_op:
        batch_op.create_index("ix_audit_entries_action", ["action", "at", "id"], unique=False)
        batch_op.create_index("ix_audit_entries_actor", ["actor", "at", "id"], unique=False)
        batch_op.create_index("ix_audit_entries_actor_action", ["actor", "action", "at", "id"], unique=False)
        batch_op.create_index("ix_audit_entries_at", ["at", "id"], unique=False)
        batch_op.create_index("ix_audit_entries_entity", ["entity", "entity_id", "at", "id"], unique=False)

    op.create_table(
        "channels",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("comments", sa.Text(), nullable=False),
        sa.Column("takes_snapshots", sa.Boolean(), nullable=False),
        sa.Column("is_default", sa.Boolean(), nullable=False),
        sa.Column("edition", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_channels")),
        sa.UniqueConstraint("name", name=op.f("uq_channels_name")),
    )
    op.create_table(
        "crawler_trap_lists",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("edition", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_crawler_trap_lists")),
        sa.UniqueConstraint("name", name=op.f("uq_crawler_trap_lists_name")),
    )
    op.create_table(
        "domains",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column(
            "name",
            sa.String(length=255).with_variant(sa.String(length=255, collation="C"), "postgresql"),
            nullable=False,
        ),
        sa.Column("unicode_name", sa.String(length=255), nullable=False),
        sa.Column(
            "tld",
            sa.String(length=255).with_variant(sa.String(length=255, collation="C"), "postgresql"),
            nullable=False,
        ),
        sa.Column("comments", sa.Text(), nullable=False),
        sa.Column("default_configuration_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("alias_of_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("alias_since", sa.BigInteger(), nullable=True),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("edition", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["alias_of_id"], ["domains.id"], name=op.f("fk_domains_alias_of_id_domains"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["default_configuration_id"],
            ["configurations.id"],
            name=op.f("fk_domains_default_configuration_id_configurations"),
            ondelete="SET NULL",
            use_alter=True,
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_domains")),
        sa.UniqueConstraint("name", name=op.f("uq_domains_name")),
    )
    with op.batch_alter_table("domains", schema=None) as batch_op:
        batch_op.create_index("ix_domains_alias_of_name", ["alias_of_id", "name"], unique=False)
        batch_op.create_index("ix_domains_alias_since_id", ["alias_since", "id"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_domains_default_configuration_id"), ["default_configuration_id"], unique=False
        )
        batch_op.create_index("ix_domains_tld_name", ["tld", "name"], unique=False)

    op.create_table(
        "extended_fields",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("entity", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("choices", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("default", sa.Text(), nullable=False),
        sa.Column("is_mandatory", sa.Boolean(), nullable=False),
        sa.Column("is_kept_with_jobs", sa.Boolean(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("edition", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_extended_fields")),
        sa.UniqueConstraint("entity", "name", name=op.f("uq_extended_fields_entity_name")),
    )
    op.create_table(
        "installation_values",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_installation_values")),
    )
    op.create_table(
        "leases",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_leases")),
    )
    op.create_table(
        "login_attempts",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("attempts", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_login_attempts")),
    )
    with op.batch_alter_table("login_attempts", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_login_attempts_until"), ["until"], unique=False)

    op.create_table(
        "schedules",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("comments", sa.Text(), nullable=False),
        sa.Column("unit", sa.String(length=32), nullable=False),
        sa.Column("every", sa.BigInteger(), nullable=False),
        sa.Column("minute", sa.Integer(), nullable=True),
        sa.Column("hour", sa.Integer(), nullable=True),
        sa.Column("weekday", sa.Integer(), nullable=True),
        sa.Column("month_day", sa.Integer(), nullable=True),
        sa.Column("zone", sa.String(length=255), nullable=False),
        sa.Column("starts", sa.BigInteger(), nullable=True),
        sa.Column("ends", sa.String(length=32), nullable=False),
        sa.Column("ends_at", sa.BigInteger(), nullable=True),
        sa.Column("ends_after", sa.Integer(), nullable=True),
        sa.Column("edition", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schedules")),
        sa.UniqueConstraint("name", name=op.f("uq_schedules_name")),
    )
    op.create_table(
        "templates",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("comments", sa.Text(), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("edition", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_templates")),
        sa.UniqueConstraint("name", name=op.f("uq_templates_name")),
    )
    op.create_table(
        "users",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("full_name", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("role", sa.String(length=32), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("oidc_issuer", sa.Text(), nullable=True),
        sa.Column("oidc_subject", sa.Text(), nullable=True),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("zone", sa.String(length=255), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("last_login", sa.BigInteger(), nullable=True),
        sa.Column("edition", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("name", name=op.f("uq_users_name")),
        sa.UniqueConstraint("oidc_issuer", "oidc_subject", name=op.f("uq_users_oidc_issuer_oidc_subject")),
    )
    op.create_table(
        "api_tokens",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("user_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("role", sa.String(length=32), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=True),
        sa.Column("used", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_api_tokens_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_tokens")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_api_tokens_token_hash")),
    )
    with op.batch_alter_table("api_tokens", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_api_tokens_user_id"), ["user_id"], unique=False)

    op.create_table(
        "configurations",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("domain_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("comments", sa.Text(), nullable=False),
        sa.Column("template_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("max_objects", sa.BigInteger(), nullable=False),
        sa.Column("max_bytes", sa.BigInteger(), nullable=False),
        sa.Column("max_rate", sa.BigInteger(), nullable=False),
        sa.Column("attributes", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("edition", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["domain_id"], ["domains.id"], name=op.f("fk_configurations_domain_id_domains"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["template_id"], ["templates.id"], name=op.f("fk_configurations_template_id_templates")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_configurations")),
        sa.UniqueConstraint("domain_id", "name", name=op.f("uq_configurations_domain_id_name")),
    )
    with op.batch_alter_table("configurations", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_configurations_template_id"), ["template_id"], unique=False)

    op.create_table(
        "domain_owners",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("domain_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("contact", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["domain_id"], ["domains.id"], name=op.f("fk_domain_owners_domain_id_domains"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_domain_owners")),
    )
    with op.batch_alter_table("domain_owners", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_domain_owners_domain_id"), ["domain_id"], unique=False)

    op.create_table(
        "domain_passwords",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("domain_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("realm", sa.Text(), nullable=False),
        sa.Column("username", sa.Text(), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["domain_id"], ["domains.id"], name=op.f("fk_domain_passwords_domain_id_domains"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_domain_passwords")),
        sa.UniqueConstraint("domain_id", "name", name=op.f("uq_domain_passwords_domain_id_name")),
    )
    op.create_table(
        "extended_values",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("field_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("entity_id", sa.BigInteger(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["field_id"],
            ["extended_fields.id"],
            name=op.f("fk_extended_values_field_id_extended_fields"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_extended_values")),
        sa.UniqueConstraint("field_id", "entity_id", name=op.f("uq_extended_values_field_id_entity_id")),
    )
    with op.batch_alter_table("extended_values", schema=None) as batch_op:
        batch_op.create_index("ix_extended_values_entity", ["entity_id"], unique=False)

    op.create_table(
        "harvesters",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("channel_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("machine", sa.String(length=255), nullable=False),
        sa.Column("home", sa.String(length=255), nullable=False),
        sa.Column("pid", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=32), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=True),
        sa.Column("free_bytes", sa.BigInteger(), nullable=False),
        sa.Column("registered", sa.BigInteger(), nullable=False),
        sa.Column("heard", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["channel_id"], ["channels.id"], name=op.f("fk_harvesters_channel_id_channels")),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_harvesters")),
    )
    with op.batch_alter_table("harvesters", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_harvesters_channel_id"), ["channel_id"], unique=False)

    op.create_table(
        "harvests",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("comments", sa.Text(), nullable=False),
        sa.Column("audience", sa.Text(), nullable=False),
        sa.Column("collection", sa.String(length=255), nullable=False),
        sa.Column("channel_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("why_inactive", sa.Text(), nullable=False),
        sa.Column("schedule_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("first_run", sa.BigInteger(), nullable=True),
        sa.Column("next_run", sa.BigInteger(), nullable=True),
        sa.Column("runs_made", sa.BigInteger(), nullable=False),
        sa.Column("run_now", sa.Boolean(), nullable=False),
        sa.Column("max_bytes", sa.BigInteger(), nullable=False),
        sa.Column("max_objects", sa.BigInteger(), nullable=False),
        sa.Column("max_seconds", sa.BigInteger(), nullable=False),
        sa.Column("previous_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("is_index_ready", sa.Boolean(), nullable=False),
        sa.Column("facts", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.String(length=255), nullable=False),
        sa.Column("edition", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["channel_id"], ["channels.id"], name=op.f("fk_harvests_channel_id_channels")),
        sa.ForeignKeyConstraint(["previous_id"], ["harvests.id"], name=op.f("fk_harvests_previous_id_harvests")),
        sa.ForeignKeyConstraint(["schedule_id"], ["schedules.id"], name=op.f("fk_harvests_schedule_id_schedules")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_harvests")),
        sa.UniqueConstraint("name", name=op.f("uq_harvests_name")),
    )
    with op.batch_alter_table("harvests", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_harvests_channel_id"), ["channel_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_harvests_next_run"), ["next_run"], unique=False)
        batch_op.create_index(batch_op.f("ix_harvests_schedule_id"), ["schedule_id"], unique=False)

    op.create_table(
        "invitations",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("user_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("role", sa.String(length=32), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.String(length=255), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.Column("used", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_invitations_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitations")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_invitations_token_hash")),
    )
    with op.batch_alter_table("invitations", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_invitations_user_id"), ["user_id"], unique=False)

    op.create_table(
        "notifications",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("event", sa.String(length=255), nullable=False),
        sa.Column("way", sa.String(length=255), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("lane", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("body", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("due", sa.BigInteger(), nullable=True),
        sa.Column("claim", sa.Text(), nullable=True),
        sa.Column("attempts", sa.BigInteger(), nullable=False),
        sa.Column("sent", sa.BigInteger(), nullable=True),
        sa.Column("given_up", sa.BigInteger(), nullable=True),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_notifications_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notifications")),
        sa.UniqueConstraint("message_id", name=op.f("uq_notifications_message_id")),
    )
    with op.batch_alter_table("notifications", schema=None) as batch_op:
        batch_op.create_index("ix_notifications_digest", ["digest"], unique=False)
        batch_op.create_index("ix_notifications_due", ["due", "id"], unique=False)
        batch_op.create_index("ix_notifications_lane_due", ["lane", "due", "id"], unique=False)
        batch_op.create_index("ix_notifications_user_created", ["user_id", "created"], unique=False)

    op.create_table(
        "seed_lists",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("domain_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("seeds", sa.Text(), nullable=False),
        sa.Column("comments", sa.Text(), nullable=False),
        sa.Column("edition", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["domain_id"], ["domains.id"], name=op.f("fk_seed_lists_domain_id_domains"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_seed_lists")),
        sa.UniqueConstraint("domain_id", "name", name=op.f("uq_seed_lists_domain_id_name")),
    )
    op.create_table(
        "template_versions",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("template_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(length=255), nullable=False),
        sa.Column("comments", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.String(length=255), nullable=False),
        sa.ForeignKeyConstraint(
            ["template_id"],
            ["templates.id"],
            name=op.f("fk_template_versions_template_id_templates"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_template_versions")),
        sa.UniqueConstraint("template_id", "number", name=op.f("uq_template_versions_template_id_number")),
    )
    op.create_table(
        "web_sessions",
        sa.Column("id_hash", sa.Text(), nullable=False),
        sa.Column("user_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("seen", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("browser", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_web_sessions_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id_hash", name=op.f("pk_web_sessions")),
    )
    with op.batch_alter_table("web_sessions", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_web_sessions_user_id"), ["user_id"], unique=False)

    op.create_table(
        "configuration_passwords",
        sa.Column("configuration_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("password_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(
            ["configuration_id"],
            ["configurations.id"],
            name=op.f("fk_configuration_passwords_configuration_id_configurations"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["password_id"],
            ["domain_passwords.id"],
            name=op.f("fk_configuration_passwords_password_id_domain_passwords"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("configuration_id", "password_id", name=op.f("pk_configuration_passwords")),
    )
    with op.batch_alter_table("configuration_passwords", schema=None) as batch_op:
        batch_op.create_index("ix_configuration_passwords_password_id", ["password_id"], unique=False)

    op.create_table(
        "configuration_seed_lists",
        sa.Column("configuration_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("seed_list_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(
            ["configuration_id"],
            ["configurations.id"],
            name=op.f("fk_configuration_seed_lists_configuration_id_configurations"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["seed_list_id"],
            ["seed_lists.id"],
            name=op.f("fk_configuration_seed_lists_seed_list_id_seed_lists"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("configuration_id", "seed_list_id", name=op.f("pk_configuration_seed_lists")),
    )
    with op.batch_alter_table("configuration_seed_lists", schema=None) as batch_op:
        batch_op.create_index("ix_configuration_seed_lists_seed_list_id", ["seed_list_id"], unique=False)

    op.create_table(
        "crawler_traps",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("list_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("domain_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("harvest_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("expression", sa.Text(), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["domain_id"], ["domains.id"], name=op.f("fk_crawler_traps_domain_id_domains"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["harvest_id"], ["harvests.id"], name=op.f("fk_crawler_traps_harvest_id_harvests"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["list_id"],
            ["crawler_trap_lists.id"],
            name=op.f("fk_crawler_traps_list_id_crawler_trap_lists"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_crawler_traps")),
    )
    with op.batch_alter_table("crawler_traps", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_crawler_traps_domain_id"), ["domain_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_crawler_traps_harvest_id"), ["harvest_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_crawler_traps_list_id"), ["list_id"], unique=False)

    op.create_table(
        "harvest_configurations",
        sa.Column("harvest_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("configuration_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(
            ["configuration_id"],
            ["configurations.id"],
            name=op.f("fk_harvest_configurations_configuration_id_configurations"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["harvest_id"],
            ["harvests.id"],
            name=op.f("fk_harvest_configurations_harvest_id_harvests"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("harvest_id", "configuration_id", name=op.f("pk_harvest_configurations")),
    )
    with op.batch_alter_table("harvest_configurations", schema=None) as batch_op:
        batch_op.create_index("ix_harvest_configurations_configuration_id", ["configuration_id"], unique=False)

    op.create_table(
        "harvest_runs",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("harvest_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("started", sa.BigInteger(), nullable=False),
        sa.Column("jobs", sa.BigInteger(), nullable=False),
        sa.Column("configurations", sa.BigInteger(), nullable=False),
        sa.Column("left_out", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("dates_skipped", sa.BigInteger(), nullable=False),
        sa.Column("is_extra", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["harvest_id"], ["harvests.id"], name=op.f("fk_harvest_runs_harvest_id_harvests"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_harvest_runs")),
        sa.UniqueConstraint("harvest_id", "number", name=op.f("uq_harvest_runs_harvest_id_number")),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("harvest_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("run_number", sa.BigInteger(), nullable=False),
        sa.Column("channel_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("collection", sa.String(length=255), nullable=False),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("edition", sa.Integer(), nullable=False),
        sa.Column("template_name", sa.String(length=255), nullable=False),
        sa.Column("template_version", sa.BigInteger(), nullable=False),
        sa.Column("profile", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("seeds", sa.Text(), nullable=False),
        sa.Column("max_bytes", sa.BigInteger(), nullable=False),
        sa.Column("max_objects", sa.BigInteger(), nullable=False),
        sa.Column("max_seconds", sa.BigInteger(), nullable=False),
        sa.Column("expected_objects", sa.BigInteger(), nullable=False),
        sa.Column("configurations_count", sa.BigInteger(), nullable=False),
        sa.Column("aliases", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("duplicate_reduction_jobs", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("facts", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("submitted", sa.BigInteger(), nullable=True),
        sa.Column("started", sa.BigInteger(), nullable=True),
        sa.Column("ended", sa.BigInteger(), nullable=True),
        sa.Column("heard", sa.BigInteger(), nullable=True),
        sa.Column("harvester", sa.Text(), nullable=True),
        sa.Column("token", sa.Text(), nullable=True),
        sa.Column("run_name", sa.Text(), nullable=True),
        sa.Column("resubmitted_as_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("resubmission_of_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("continuation_of_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("harvest_error", sa.Text(), nullable=False),
        sa.Column("harvest_error_details", sa.Text(), nullable=False),
        sa.Column("upload_error", sa.Text(), nullable=False),
        sa.Column("upload_error_details", sa.Text(), nullable=False),
        sa.Column("objects", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("new_bytes", sa.BigInteger(), nullable=False),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column("report", sa.JSON(none_as_null=True), nullable=True),
        sa.ForeignKeyConstraint(["channel_id"], ["channels.id"], name=op.f("fk_jobs_channel_id_channels")),
        sa.ForeignKeyConstraint(["continuation_of_id"], ["jobs.id"], name=op.f("fk_jobs_continuation_of_id_jobs")),
        sa.ForeignKeyConstraint(["harvest_id"], ["harvests.id"], name=op.f("fk_jobs_harvest_id_harvests")),
        sa.ForeignKeyConstraint(["resubmission_of_id"], ["jobs.id"], name=op.f("fk_jobs_resubmission_of_id_jobs")),
        sa.ForeignKeyConstraint(["resubmitted_as_id"], ["jobs.id"], name=op.f("fk_jobs_resubmitted_as_id_jobs")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.create_index("ix_jobs_channel_status", ["channel_id", "status", "id"], unique=False)
        batch_op.create_index("ix_jobs_collection_id", ["collection", "id"], unique=False)
        batch_op.create_index("ix_jobs_channel_id", ["channel_id", "id"], unique=False)
        batch_op.create_index("ix_jobs_harvest_id", ["harvest_id", "id"], unique=False)
        batch_op.create_index("ix_jobs_harvest_channel", ["harvest_id", "channel_id", "id"], unique=False)
        batch_op.create_index("ix_jobs_harvest_run", ["harvest_id", "run_number", "id"], unique=False)
        batch_op.create_index("ix_jobs_harvest_run_status", ["harvest_id", "run_number", "status"], unique=False)
        batch_op.create_index("ix_jobs_harvest_status", ["harvest_id", "status", "id"], unique=False)
        batch_op.create_index("ix_jobs_harvester_id", ["harvester", "id"], unique=False)
        batch_op.create_index("ix_jobs_status_id", ["status", "id"], unique=False)
        batch_op.create_index(
            "ix_jobs_upload_error",
            ["id"],
            unique=False,
            sqlite_where=sa.text("upload_error <> ''"),
            postgresql_where=sa.text("upload_error <> ''"),
        )

    op.create_table(
        "subscriptions",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("user_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("event", sa.String(length=255), nullable=False),
        sa.Column("harvest_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("way", sa.String(length=255), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("is_digest", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["harvest_id"], ["harvests.id"], name=op.f("fk_subscriptions_harvest_id_harvests"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_subscriptions_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_subscriptions")),
    )
    with op.batch_alter_table("subscriptions", schema=None) as batch_op:
        batch_op.create_index("ix_subscriptions_event_harvest", ["event", "harvest_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_subscriptions_user_id"), ["user_id"], unique=False)

    op.create_table(
        "domain_history",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("job_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("harvest_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("domain_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("configuration_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("objects", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("new_bytes", sa.BigInteger(), nullable=False),
        sa.Column("stop_reason", sa.String(length=32), nullable=False),
        sa.Column("ended", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["configuration_id"],
            ["configurations.id"],
            name=op.f("fk_domain_history_configuration_id_configurations"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["domain_id"], ["domains.id"], name=op.f("fk_domain_history_domain_id_domains"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["harvest_id"], ["harvests.id"], name=op.f("fk_domain_history_harvest_id_harvests")),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_domain_history_job_id_jobs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_domain_history")),
        sa.UniqueConstraint("job_id", "domain_id", name=op.f("uq_domain_history_job_id_domain_id")),
    )
    with op.batch_alter_table("domain_history", schema=None) as batch_op:
        batch_op.create_index("ix_domain_history_configuration_ended", ["configuration_id", "ended"], unique=False)
        batch_op.create_index("ix_domain_history_domain_ended", ["domain_id", "ended"], unique=False)
        batch_op.create_index("ix_domain_history_harvest_domain", ["harvest_id", "domain_id"], unique=False)

    op.create_table(
        "job_commands",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("job_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.String(length=255), nullable=False),
        sa.Column("verb", sa.String(length=255), nullable=False),
        sa.Column("arguments", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("done", sa.BigInteger(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_commands_job_id_jobs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_commands")),
    )
    with op.batch_alter_table("job_commands", schema=None) as batch_op:
        batch_op.create_index("ix_job_commands_job_done", ["job_id", "done"], unique=False)

    op.create_table(
        "job_configurations",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("job_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("configuration_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("domain_name", sa.String(length=255), nullable=False),
        sa.Column("configuration_name", sa.String(length=255), nullable=False),
        sa.Column("expected_objects", sa.BigInteger(), nullable=False),
        sa.Column("max_bytes", sa.BigInteger(), nullable=False),
        sa.Column("max_objects", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["configuration_id"],
            ["configurations.id"],
            name=op.f("fk_job_configurations_configuration_id_configurations"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_job_configurations_job_id_jobs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_configurations")),
        sa.UniqueConstraint("job_id", "domain_name", name=op.f("uq_job_configurations_job_id_domain_name")),
    )
    with op.batch_alter_table("job_configurations", schema=None) as batch_op:
        batch_op.create_index("ix_job_configurations_configuration_id", ["configuration_id"], unique=False)
        batch_op.create_index("ix_job_configurations_domain_job", ["domain_name", "job_id"], unique=False)

    op.create_table(
        "job_samples",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("job_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=255), nullable=False),
        sa.Column("progress", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("hosts", sa.JSON(none_as_null=True), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_samples_job_id_jobs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_samples")),
    )
    with op.batch_alter_table("job_samples", schema=None) as batch_op:
        batch_op.create_index("ix_job_samples_job_at", ["job_id", "at"], unique=False)

    op.create_table(
        "job_logs",
        sa.Column("job_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("tail", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_logs_job_id_jobs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_job_logs")),
    )
    op.create_table(
        "job_pictures",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("job_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("image", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_pictures_job_id_jobs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_pictures")),
    )
    with op.batch_alter_table("job_pictures", schema=None) as batch_op:
        batch_op.create_index("ix_job_pictures_job_id", ["job_id", "id"], unique=False)
    if op.get_bind().dialect.name != "sqlite":  # SQLite has it since `domains` was made
        op.create_foreign_key(
            "fk_domains_default_configuration_id_configurations",
            "domains",
            "configurations",
            ["default_configuration_id"],
            ["id"],
            ondelete="SET NULL",
        )
