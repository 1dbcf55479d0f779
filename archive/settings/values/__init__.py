"""Values of settings: how they are declared, read from files and shown."""
