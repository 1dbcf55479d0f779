"""Each operation has a place among the commands: its groups and its verb.

The place is the noun and the verb of the operation's name, unless one of these tables says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

NOUNS: Final[Mapping[str, tuple[str, ...]]] = {
    "domain": ("domain",),
    "seed-list": ("domain", "seed-list"),
    "configuration": ("domain", "configuration"),
    "password": ("domain", "password"),
    "extended-field": ("extended-field",),
    "trap": ("trap",),
    "trap-list": ("trap",),
    "template": ("template",),
    "schedule": ("schedule",),
    "harvest": ("harvest",),
    "job": ("harvest", "job"),
    "channel": ("channel",),
    "harvester": ("channel", "harvester"),
    "user": ("user",),
    "invitation": ("user", "invitation"),
    "token": ("user", "token"),
    "audit": ("audit",),
    "event": ("notification", "event"),
    "subscription": ("notification", "subscription"),
    "message": ("notification", "message"),
    "webhook-key": ("notification", "webhook-key"),
    "collection": ("capture",),
    "access-rule": ("capture", "access-rule"),
    "task": ("capture", "task"),
    "qa": ("qa",),
    "capture-session": ("session",),
    "description": ("curate", "description"),
    "exclusion": ("curate", "exclusion"),
    "permission": ("curate", "permission"),
    "letter": ("curate", "letter"),
    "tray": ("curate", "tray"),
    "bulk": ("curate", "bulk"),
    "calendar": ("curate", "calendar"),
    "report": ("curate", "report"),
}
"""The groups in which the commands of a noun are. `ghostfleet job` is for jobs of `ghostfleet crawl`, which have names;
jobs of harvests have numbers, and are in `ghostfleet harvest job`. `ghostfleet harvester` runs a harvester."""

VERBS: Final[Mapping[str, tuple[str, ...]]] = {
    "template.verify": ("template", "check"),
    "invitation.create": ("user", "invite"),
    "job.undo_reject": ("harvest", "job", "undo-reject"),
    "collection.captures": ("capture", "list"),
    "collection.capture": ("capture", "show"),
    "overview.show": ("harvest", "overview"),
}
"""Operations whose command is not named after them."""

LEFT_OUT: Final[Mapping[str, str]] = {
    "profile.show": "user show",
    "profile.change": "user change",
    "session.list": "user sessions",
    "session.end": "user end-sessions",
    "token.list": "user tokens",
    "token.revoke": "user revoke-token",
    "task.download": "wacz",
    "task.create-import": "collection import",
    **{f"task.{verb}-queues": f"queue {verb}" for verb in ("export", "import", "rebuild")},
    "access-rule.upload": "collection access import",
    **{f"log.{verb}": f"log {verb}" for verb in ("list", "analyse", "timeline", "hosts", "statuses", "search")},
    "log.show": "log analyse",
    "log.indicators": "log indicators",
    "log.alerts": "log alerts",
    "collection.list": "collection list",
    "collection.show": "collection show",
}
"""Operations without a command of their own, each with the command that does the same.

The command line is no user, and administers all users; `ghostfleet collection` reads the files themselves."""

GROUPS: Final[Mapping[tuple[str, ...], str]] = {
    ("domain",): "Add, find and change domains, their seed lists, configurations, passwords and aliases.",
    ("domain", "seed-list"): "Show and change the seed lists of a domain.",
    ("domain", "configuration"): "Show and change the configurations of a domain.",
    ("domain", "password"): "Show and change the passwords of a domain.",
    ("extended-field",): "Define further fields of domains and harvests.",
    ("trap",): "Show and change global lists of crawler traps, and test expressions.",
    ("template",): "Upload, check, compare and download templates of crawls.",
    ("schedule",): "Show and change schedules, and preview their dates.",
    ("harvest",): "Define, preview and run harvests, and steer their jobs.",
    ("harvest", "job"): "Show and steer jobs of harvests; `ghostfleet job` is for jobs of `ghostfleet crawl`.",
    ("channel",): "Show and change channels, and show their harvesters.",
    ("channel", "harvester"): "Show harvesters; `ghostfleet harvester` runs one.",
    ("user",): "Invite, show and change users of the admin site, reset passwords, and make API tokens.",
    ("user", "invitation"): "Show and revoke one-time links.",
    ("user", "token"): "Make API tokens.",
    ("capture",): "Find captures of a collection, show their records, and replay them.",
    ("capture", "access-rule"): "Show and change which captures of a collection readers may see.",
    ("capture", "task"): "Order WACZ packages of a server, and show how far packages, imports and work on queues are.",
    ("qa",): "Judge captured pages by their replay, decide about them, and repair them.",
    ("session",): "Make, show, pause, resume and end capture sessions, in which a person captures by hand.",
    ("curate",): "Describe collections, ask for permissions, change many domains, and look at the in-tray.",
    ("curate", "description"): "Describe collections and captures, and approve, reject or embargo them.",
    ("curate", "exclusion"): "Exclude URLs of a collection from what readers see.",
    ("curate", "permission"): "Note permissions and licences of sites, and write letters.",
    ("curate", "letter"): "Show and change the templates of letters.",
    ("curate", "tray"): "Show, put off and assign the work that waits.",
    ("curate", "bulk"): "Change many domains at once, after a preview.",
    ("curate", "calendar"): "Show the load of the days to come.",
    ("curate", "report"): "Sum up harvests and months.",
    ("audit",): "Show who changed what, and when.",
    ("notification",): "Subscribe users to events, and show the messages that were sent.",
    ("notification", "event"): "Show the events that can be subscribed to.",
    ("notification", "subscription"): "Show and change the subscriptions of a user.",
    ("notification", "message"): "Show messages.",
    ("notification", "webhook-key"): "Change the key by which messages to webhooks are signed.",
}
"""The groups with their lines in `--help`."""


def place_of(name: str) -> tuple[str, ...] | None:
    """Return the words of an operation's command; None for an operation that has none."""
    if name in LEFT_OUT:
        return None
    noun, _, verb = name.partition(".")
    return VERBS.get(name) or (*NOUNS[noun], verb) if noun in NOUNS or name in VERBS else None
