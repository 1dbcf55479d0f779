"""Engines drive browsers behind one interface: windows, frames and traffic."""
