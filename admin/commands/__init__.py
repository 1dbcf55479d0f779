"""Each module here defines a few subcommands. `admin.cli` imports a module only when one of its commands runs."""
