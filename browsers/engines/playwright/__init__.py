"""Playwright drives Chromium, its own Firefox and WebKit. No other package of ours imports Playwright."""
