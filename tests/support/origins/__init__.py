"""Origins and web sites that answer as a test says."""
