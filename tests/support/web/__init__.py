"""The admin site for tests: users, pages, payloads, and receivers of messages."""
