"""The elements, attributes and names of HTML that have addresses, each with its hop. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from browsers.visit import Hop

ATTRIBUTES: Final[Mapping[str, tuple[tuple[str, Hop], ...]]] = {
    "a": (("href", "L"), ("xlink:href", "L")),
    "area": (("href", "L"),),
    "audio": (("src", "E"),),
    "bgsound": (("src", "E"),),
    "blockquote": (("cite", "L"),),
    "body": (("background", "E"),),
    "command": (("icon", "E"),),
    "del": (("cite", "L"),),
    "embed": (("src", "E"), ("pluginspage", "L")),
    "feimage": (("href", "E"), ("xlink:href", "E")),
    "fencedframe": (("src", "E"),),
    "frame": (("src", "E"), ("longdesc", "L")),
    "glyphref": (("href", "E"), ("xlink:href", "E")),
    "html": (("manifest", "E"),),
    "iframe": (("src", "E"), ("longdesc", "L")),
    "ilayer": (("src", "E"), ("background", "E")),
    "image": (("href", "E"), ("xlink:href", "E"), ("src", "E")),
    "img": (("src", "E"), ("lowsrc", "E"), ("dynsrc", "E"), ("longdesc", "L")),
    "input": (("src", "E"), ("dynsrc", "E"), ("lowsrc", "E")),
    "ins": (("cite", "L"),),
    "layer": (("src", "E"), ("background", "E")),
    "menuitem": (("icon", "E"),),
    "model": (("src", "E"),),
    "mpath": (("href", "E"), ("xlink:href", "E")),
    "portal": (("src", "E"),),
    "q": (("cite", "L"),),
    "script": (("src", "E"), ("href", "E"), ("xlink:href", "E")),
    "source": (("src", "E"),),
    "table": (("background", "E"),),
    "tbody": (("background", "E"),),
    "td": (("background", "E"),),
    "textpath": (("href", "E"), ("xlink:href", "E")),
    "tfoot": (("background", "E"),),
    "th": (("background", "E"),),
    "thead": (("background", "E"),),
    "tr": (("background", "E"),),
    "track": (("src", "E"),),
    "use": (("href", "E"), ("xlink:href", "E")),
    "video": (("src", "E"), ("poster", "E")),
    "xml": (("src", "E"),),
}
"""Element, attribute, hop: what HTML (and HTML of thirty years) names by a plain address."""

_LAZY: Final = """
    data-src data-src-small data-src-medium data-src-large data-src-retina data-lazy data-lazy-src data-lazyload
    data-echo data-normal data-retina data-original data-orig-file data-large-file data-medium-file data-full-src
    data-full-url data-large_image data-zoom-image data-zoom-src data-hi-res-src data-img data-img-src data-img-url
    data-image data-image-src data-thumb data-thumbnail data-thumb-src data-poster data-video-src data-mp4 data-webm
    data-ogg data-bg data-bg-src data-bg-image data-bg-url data-lazy-bg data-background data-background-image
    data-background-src data-parallax-image data-high-res-src data-lazy-original data-cfsrc data-splide-lazy
    data-flickity-lazyload
"""
ANYWHERE: Final[Mapping[str, Hop]] = dict.fromkeys(_LAZY.split(), "E")
"""Attributes by which lazy-loading scripts keep the address of a picture or a film, on any element.

Heritrix's ExtractorHTML knows data-src, -small, -medium, data-original, data-lazy, data-lazy-src and data-full-src. The
others are those of widespread libraries. Their values are looked at as addresses only if they have the form of one.
"""

SURE: Final = frozenset(("data-src", "data-original", "data-lazy-src", "data-poster", "data-full-src"))
"""Attributes whose every value is an address."""
_SETS: Final = """
    srcset imagesrcset data-srcset data-lazy-srcset data-original-set data-full-srcset data-bgset data-cfsrcset
    data-splide-lazy-srcset data-flickity-lazyload-srcset
"""
SETS: Final = frozenset(_SETS.split())
"""Attributes that have several addresses, as `srcset`."""
PICTURES_IN_META: Final = ("og:image", "og:video", "og:audio", "twitter:image", "twitter:player")
_PAGES_IN_META: Final = """
    og:url og:see_also al:web:url twitter:url article:publisher article:author music:song music:album video:series
    citation_abstract_html_url citation_fulltext_html_url citation_public_url citation_pdf_url
"""
PAGES_IN_META: Final = frozenset(_PAGES_IN_META.split())
"""Names of meta elements whose content is the URL of a page."""
_FILES_IN_META: Final = """
    msapplication-tileimage msapplication-square70x70logo msapplication-square150x150logo
    msapplication-wide310x150logo msapplication-square310x310logo msapplication-config thumbnail image contenturl
    thumbnailurl embedurl logo sailthru.image.full sailthru.image.thumb parsely-image-url vk:image
"""
FILES_IN_META: Final = frozenset(_FILES_IN_META.split())
"""Names of meta elements whose content is the URL of a picture or another file."""
