"""This package reads HTTP/1 messages as they stand in records."""
