"""Clients of a proxy or a listener, polite and hostile."""
