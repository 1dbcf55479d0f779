"""Chromium is a browser engine, which is controlled with the Chrome DevTools Protocol."""
