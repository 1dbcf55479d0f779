"""This package has the values of settings: how they are declared, read from files and shown."""
