"""The modules here document a job in its metadata file, and beside its files."""
