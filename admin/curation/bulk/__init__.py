"""Many domains are changed at once here, after a preview."""
