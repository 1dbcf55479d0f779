"""Configurations of Heritrix 3 become profiles here."""
