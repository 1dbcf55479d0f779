"""The catalogue lists all features."""

from __future__ import annotations

from typing import Final

from feature_site.applications import APPLICATIONS
from feature_site.both_ways import BOTH_WAYS
from feature_site.changing import CHANGING
from feature_site.components import COMPONENTS
from feature_site.documents import DOCUMENTS
from feature_site.everyday import EVERYDAY
from feature_site.exchanges import EXCHANGES
from feature_site.gates import GATES
from feature_site.hostile import HOSTILE
from feature_site.interaction import INTERACTION
from feature_site.loads import LOADS
from feature_site.media import MEDIA
from feature_site.modern_pages import MODERN_PAGES
from feature_site.modern_requests import MODERN_REQUESTS
from feature_site.network import NETWORK
from feature_site.ordinary import ORDINARY
from feature_site.pictures import PICTURES
from feature_site.platform_features import PLATFORM_FEATURES
from feature_site.players import PLAYERS
from feature_site.sample import SAMPLE
from feature_site.scripts import SCRIPTS
from feature_site.third_look import THIRD_LOOK
from feature_site.unseen import UNSEEN
from feature_site.visitors import VISITORS
from feature_site.whole_pages import WHOLE_PAGES
from feature_site.widgets import WIDGETS

GROUPS: Final = {
    "Pictures and styles": PICTURES,
    "Scripts": SCRIPTS,
    "Requests": NETWORK,
    "Interaction": INTERACTION,
    "Widgets": WIDGETS,
    "Media": MEDIA,
    "Documents": DOCUMENTS,
    "Modern pages": MODERN_PAGES,
    "Answers of modern servers": MODERN_REQUESTS,
    "Components of libraries": COMPONENTS,
    "Gates and moments": GATES,
    "Exchanges of today": EXCHANGES,
    "Everyday sites": EVERYDAY,
    "Platform of today": PLATFORM_FEATURES,
    "Requests that change": CHANGING,
    "Whole pages": WHOLE_PAGES,
    "Readers and players": PLAYERS,
    "Applications": APPLICATIONS,
    "Second look": UNSEEN,
    "Third look": THIRD_LOOK,
    "What pages load": LOADS,
    "What visitors do": VISITORS,
    "Independent sample": SAMPLE,
    "Ordinary pages": ORDINARY,
    "Both ways": BOTH_WAYS,
    "Pages that hold the visitor": HOSTILE,
}
FEATURES: Final = tuple(feature for group in GROUPS.values() for feature in group)
