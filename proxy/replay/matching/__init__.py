"""The modules here choose which of the captures of a URL, or of similar URLs, answers a request."""
