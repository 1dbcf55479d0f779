"""The real proxy for tests, alone and under load."""
