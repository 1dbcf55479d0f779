"""Commands on crawls, and on the profiles that say how pages are visited."""
