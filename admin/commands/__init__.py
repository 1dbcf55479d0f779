"""One file per group of subcommands; `admin.cli` imports one only when it is asked for."""
