"""HTTP/1 messages as they stand in records."""
