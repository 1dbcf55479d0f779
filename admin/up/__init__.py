"""This package runs all parts of an installation with one command: `ghostfleet up`."""
