"""Names of files, records, collections and jobs."""
