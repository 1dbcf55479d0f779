"""Helpers that tests share, in a folder for each subject."""
