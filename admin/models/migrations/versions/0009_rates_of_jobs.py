"""This migration adds the rate that each domain of a job had when the job was made."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008capture"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the change."""
    op.add_column("job_configurations", sa.Column("max_rate", sa.BigInteger(), server_default="0", nullable=False))
    # The rate of a configuration that was deleted is not known any more.
    op.execute(
        "UPDATE job_configurations SET max_rate = (SELECT configurations.max_rate FROM configurations"
        " WHERE configurations.id = job_configurations.configuration_id) WHERE configuration_id IS NOT NULL"
    )
