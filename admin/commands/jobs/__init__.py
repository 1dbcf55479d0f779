"""The commands here run and steer crawls, and keep the profiles that say how pages are visited."""
