"""The rules of a scope decide about URLs here, by SURT prefixes, patterns, and lists in files."""
