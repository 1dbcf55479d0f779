"""This package has the names of files, records, collections and jobs."""
