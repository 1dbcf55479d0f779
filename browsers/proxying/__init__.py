"""The visitors' side of the recording proxy: its control port, its authority, and the outcome of an exchange."""
