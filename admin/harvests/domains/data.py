"""These models are the input and output of the use cases of domains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, SecretStr

from admin.models.domain_tables import FieldKind
from admin.models.operation import InputModel, OutputModel
from archive.dates import Micros

type Edition = int | None


class DomainCreation(InputModel):
    """The input names a new domain."""

    name: str = Field(description="any URL, host name or address; its registered domain is added")
    comments: str = ""
    extended: Mapping[str, str] = Field({}, description="values of extended fields, by the field's name")


class DomainChange(InputModel):
    """The input says what changes about a domain; what is left out stays as it is."""

    comments: str | None = None
    default_configuration: str | None = Field(None, description="name of one of the domain's configurations")
    extended: Mapping[str, str] | None = Field(None, description="values of extended fields; others stay as they are")
    edition: Edition = None


class DomainItem(OutputModel):
    """A domain in a list."""

    name: str
    unicode_name: str
    tld: str
    comments: str
    default_configuration: str | None
    alias_of: str | None
    created: Micros
    edition: int


class SeedListItem(OutputModel):
    """A seed list without its seeds."""

    name: str
    comments: str
    seeds: int
    """How many lines are seeds."""
    edition: int


class ConfigurationView(OutputModel):
    """The output has everything that a configuration sets."""

    name: str
    comments: str
    template: str
    seed_lists: list[str]
    passwords: list[str]
    max_objects: int
    max_bytes: int
    max_rate: int
    attributes: dict[str, Any]
    is_default: bool
    has_seeds: bool
    """A configuration without a seed is left out of harvests."""
    edition: int


class OwnerView(OutputModel):
    """The output has an owner of a domain, from the moment `created` until the next entry."""

    created: Micros
    owner: str
    contact: str


class DomainView(DomainItem):
    """The output has everything that belongs to a domain, without the seeds themselves."""

    alias_since: Micros | None
    alias_expires: Micros | None
    is_alias_in_force: bool
    aliases: list[str]
    """Names of the domains that are aliases of this one; at most 1,000."""
    owner: OwnerView | None
    configurations: list[ConfigurationView]
    seed_lists: list[SeedListItem]
    passwords: list[PasswordView]
    crawler_traps: int
    has_history: bool
    extended: dict[str, str]


class TldCount(OutputModel):
    """The output says how many domains have one public suffix."""

    tld: str
    domains: int


class SeedListCreation(InputModel):
    """The input has a new seed list."""

    name: str
    seeds: str = Field("", description="one URL on each line; blank lines and lines that begin with # are kept")
    comments: str = ""


class SeedListChange(InputModel):
    """The input says what changes about a seed list; what is left out stays as it is."""

    name: str | None = None
    seeds: str | None = None
    comments: str | None = None
    edition: Edition = None


class SeedListView(OutputModel):
    """A seed list with its seeds."""

    domain: str
    name: str
    seeds: str
    comments: str
    configurations: list[str]
    """Names of the configurations that use the list."""
    edition: int


class ConfigurationCreation(InputModel):
    """The input has a new configuration. Limits that are left out are those of new domains."""

    name: str
    template: str | None = Field(None, description="name of a template; left out, it is harvests.default_template")
    seed_lists: tuple[str, ...] = Field(description="names of at least one of the domain's seed lists")
    passwords: tuple[str, ...] = ()
    comments: str = ""
    max_objects: int | None = None
    max_bytes: int | None = None
    max_rate: int | None = None
    attributes: Mapping[str, Any] = Field({}, description="keys of the crawl profile that are set otherwise")


class ConfigurationChange(InputModel):
    """The input says what changes about a configuration; what is left out stays as it is."""

    name: str | None = None
    template: str | None = None
    seed_lists: tuple[str, ...] | None = None
    passwords: tuple[str, ...] | None = None
    comments: str | None = None
    max_objects: int | None = None
    max_bytes: int | None = None
    max_rate: int | None = None
    attributes: Mapping[str, Any] | None = None
    edition: Edition = None


class AliasSetting(InputModel):
    """A domain becomes an alias of another one."""

    alias_of: str
    edition: Edition = None


class AliasView(OutputModel):
    """The output has an alias, and says when it expires."""

    name: str
    unicode_name: str
    alias_of: str
    alias_since: Micros
    expires: Micros
    is_in_force: bool
    edition: int


class OwnerCreation(InputModel):
    """The input names a new owner of a domain; earlier ones become history."""

    owner: str
    contact: str = ""


class PasswordCreation(InputModel):
    """The input has a password that lets a harvest into a part of a domain."""

    name: str
    url: str = Field(description="where the password counts, such as http://www.example.org/members/")
    realm: str = ""
    username: str
    password: SecretStr


class PasswordChange(InputModel):
    """The input says what changes about a password; what is left out stays as it is."""

    url: str | None = None
    realm: str | None = None
    username: str | None = None
    password: SecretStr | None = None


class PasswordView(OutputModel):
    """The output has a password without the secret, which nobody can read again."""

    name: str
    url: str
    realm: str
    username: str
    configurations: list[str]
    """Names of the configurations that use it."""


class TrapInput(InputModel):
    """The input has a crawler trap. URLs in which the expression is found are not fetched."""

    expression: str
    is_active: bool = True


class TrapsChange(InputModel):
    """The input has all crawler traps of a domain or of a harvest, in their order."""

    traps: tuple[TrapInput, ...]
    edition: Edition = None


class TrapTest(InputModel):
    """The input has expressions, and the URLs that they are tried on."""

    expressions: tuple[str, ...]
    samples: tuple[str, ...] = ()


class TrapView(OutputModel):
    """A crawler trap as it is kept."""

    expression: str
    is_active: bool


class TrapsView(OutputModel):
    """The output has the crawler traps of a domain, and the domain's edition."""

    traps: list[TrapView]
    edition: int


class TrapResult(OutputModel):
    """The output says what came of the test of one expression."""

    line: int
    """Counted from 1."""
    expression: str
    problem: str | None
    """Why the expression can't be used; None when it can."""
    matches: list[bool]
    """For each sample whether the expression is found in it; empty when the expression can't be used."""


class TrapListCreation(InputModel):
    """The input has a new global list of crawler traps.

    Each line of `text` is an expression, but blank lines and those that begin with #.
    """

    name: str
    text: str
    description: str = ""
    is_active: bool = True


class TrapListChange(InputModel):
    """The input says what changes about a global list; what is left out stays as it is."""

    name: str | None = None
    text: str | None = Field(None, description="all expressions anew, one on each line")
    description: str | None = None
    is_active: bool | None = None
    edition: Edition = None


class TrapListItem(OutputModel):
    """A global list of crawler traps, without its expressions."""

    id: int
    name: str
    description: str
    is_active: bool
    traps: int
    edition: int


class TrapListView(TrapListItem):
    """A global list of crawler traps, with its expressions one on each line."""

    text: str


class FieldCreation(InputModel):
    """The input has a new extended field."""

    entity: str = Field(description="domain or harvest")
    name: str
    kind: FieldKind
    choices: tuple[str, ...] = Field((), description="the values of a field of the kind choice")
    default: str = ""
    is_mandatory: bool = False
    is_kept_with_jobs: bool = False
    position: int = Field(0, ge=0, le=10_000)


class FieldChange(InputModel):
    """The input says what changes about an extended field; what is left out stays as it is."""

    name: str | None = None
    kind: FieldKind | None = None
    choices: tuple[str, ...] | None = None
    default: str | None = None
    is_mandatory: bool | None = None
    is_kept_with_jobs: bool | None = None
    position: int | None = Field(None, ge=0, le=10_000)
    edition: Edition = None


class FieldView(OutputModel):
    """The output has an extended field."""

    id: int
    entity: str
    name: str
    kind: FieldKind
    choices: list[str]
    default: str
    is_mandatory: bool
    is_kept_with_jobs: bool
    position: int
    edition: int


class DomainUpload(InputModel):
    """The input has names of domains, one on each line."""

    text: str


class SeedUpload(InputModel):
    """The input has URLs, one on each line; their domains are added where they are new."""

    text: str
    seed_list: str = Field("defaultseeds", description="name of the seed list that gets the URLs, in each domain")
    configuration: str = Field("", description="name of a configuration that uses the seed list; empty makes none")
    template: str | None = None
    max_bytes: int | None = None
    max_objects: int | None = None


class LineProblem(OutputModel):
    """A line of an upload that can't be used."""

    line: int
    text: str
    """The line, shortened."""
    reason: str


class UploadReport(OutputModel):
    """The output says what came of an upload."""

    lines: int
    """Lines that were read, up to which an upload that was broken off need not be repeated."""
    created: int
    """Domains that are new."""
    known: int
    """Lines whose domain was there before, earlier lines of the same upload included."""
    seeds_added: int
    seeds_known: int
    invalid: int
    problems: list[LineProblem]
    """The first of the lines that can't be used; at most 1,000."""
    summary: str
    """A sentence for people."""


DomainView.model_rebuild()
