"""A template must have the keys that jobs set, so that nobody is surprised by what runs.

NetarchiveSuite checks the elements of an order.xml in the same way. A template shows with each key which value holds
when neither harvest nor configuration says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class RequiredKey:
    """A required key is one that a job sets; the template has its value for jobs that don't."""

    key: str
    reason: str
    """Who sets the key, as the end of the sentence "jobs set it to …"."""
    example: str
    """The lines to add to a template that lacks the key."""


REQUIRED_KEYS: Final = (
    RequiredKey("limits.urls", "the limit of objects that an operator gives a running job", "limits: {urls: null}"),
    RequiredKey("limits.bytes", "the limit of bytes that an operator gives a running job", "limits: {bytes: null}"),
    RequiredKey("limits.seconds", "the time that the harvest allows a job", "limits: {seconds: null}"),
    RequiredKey("exclude", "these patterns and the crawler traps of domain, harvest and installation", "exclude: []"),
    RequiredKey("headers", "these headers and the operator's address (From)", "headers: {}"),
    RequiredKey("user_agent", "the name and contact address of the operator", "user_agent: ''"),
    RequiredKey("hops", "the configuration's attribute of this name", "hops: 20"),
    RequiredKey("robots", "the configuration's attribute of this name", "robots: null"),
    RequiredKey("visitor", "the configuration's attribute of this name", "visitor: plain"),
)
"""The keys that jobs set. Seeds are no key of a profile: each job brings its own."""
