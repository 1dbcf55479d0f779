"""robots.txt: its rules (RFC 9309), and their store for all workers of a job."""
