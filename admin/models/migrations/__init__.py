"""Alembic migrates the admin's database with these modules."""
