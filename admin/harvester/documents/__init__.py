"""What documents a job in its metadata file, and beside its files."""
