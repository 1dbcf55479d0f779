"""Commands on collections and their WARC files."""
