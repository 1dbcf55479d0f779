"""Firefox is controlled with WebDriver BiDi over a WebSocket on loopback (W3C, WebDriver BiDi, editor's draft)."""
