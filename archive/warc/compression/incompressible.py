"""Compressing a payload again that is compressed already costs time and gains nothing. This module knows such payloads.
Pure.
"""

from __future__ import annotations

from typing import Final

_PACKED_TYPES: Final = ("image/", "video/", "audio/", "font/")
_UNPACKED: Final = frozenset({"image/svg+xml", "image/bmp", "image/x-ms-bmp", "audio/wav", "audio/x-wav", "font/ttf"})
_PACKED: Final = frozenset(
    {
        "application/epub+zip",
        "application/font-woff",
        "application/font-woff2",
        "application/gzip",
        "application/java-archive",
        "application/vnd.android.package-archive",
        "application/vnd.rar",
        "application/x-7z-compressed",
        "application/x-bzip2",
        "application/x-font-woff",
        "application/x-gzip",
        "application/x-rar-compressed",
        "application/x-shockwave-flash",
        "application/x-xz",
        "application/zip",
        "application/zstd",
    }
)
_PACKED_CODINGS: Final = frozenset({"gzip", "x-gzip", "deflate", "br", "zstd", "compress"})


def is_incompressible(mime: str | None, content_encoding: str | None) -> bool:
    """Return whether a payload is compressed already, so that packing it again costs time and gains nothing."""
    if content_encoding and content_encoding.rpartition(",")[2].strip().lower() in _PACKED_CODINGS:
        return True
    return mime is not None and (mime in _PACKED or (mime.startswith(_PACKED_TYPES) and mime not in _UNPACKED))
