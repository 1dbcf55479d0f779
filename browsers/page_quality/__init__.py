"""Rules find pages that are not what their URL promises: captchas, login walls, error pages with status 200. Pure."""
