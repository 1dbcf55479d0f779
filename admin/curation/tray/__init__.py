"""The in-tray shows each person the work that waits."""
