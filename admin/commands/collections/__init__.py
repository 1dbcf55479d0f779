"""The commands here show and change collections and their WARC files."""
