"""Migrations of the admin's database, by Alembic."""
