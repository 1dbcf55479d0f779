"""Redis, PostgreSQL and file systems for tests, with their faults."""
