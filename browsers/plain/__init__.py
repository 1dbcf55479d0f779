"""The plain visitor fetches pages without a browser: one request, its redirects, and robots.txt."""
