"""The clients and the origin send requests, responses and WebSocket messages that are computed from paths."""
