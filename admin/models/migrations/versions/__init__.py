"""Each module changes the schema once."""
