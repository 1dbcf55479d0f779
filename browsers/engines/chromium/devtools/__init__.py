"""Chromium is controlled with the Chrome DevTools Protocol over a pair of pipes."""
