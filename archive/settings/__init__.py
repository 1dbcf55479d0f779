"""This package holds all settings, one module for each section, and the only reader of the environment and of
`ghostfleet.toml`.

`archive.settings.load` is the entry point; sections are imported from here.
"""

from archive.settings.admin import AdminSettings
from archive.settings.archive import ArchiveSettings
from archive.settings.browsers import BrowserSettings
from archive.settings.database import DatabaseSettings
from archive.settings.dedup import DedupSettings
from archive.settings.frontier import FrontierSettings
from archive.settings.harvester import HarvesterSettings
from archive.settings.logs import LogFormat, LogSettings
from archive.settings.proxy import LONGEST_DELAY_SECONDS, MODES, ProxySettings
from archive.settings.redis import RedisSettings
from archive.settings.storage import StorageSettings

__all__ = [
    "LONGEST_DELAY_SECONDS",
    "MODES",
    "AdminSettings",
    "ArchiveSettings",
    "BrowserSettings",
    "DatabaseSettings",
    "DedupSettings",
    "FrontierSettings",
    "HarvesterSettings",
    "LogFormat",
    "LogSettings",
    "ProxySettings",
    "RedisSettings",
    "StorageSettings",
]
