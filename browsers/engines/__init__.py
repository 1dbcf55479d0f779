"""Browsers behind one interface: windows, frames and traffic, by Chromium or Firefox."""
