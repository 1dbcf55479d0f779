"""Collections and WARC files for tests, and other programs that read them."""
