"""A configuration says how a domain is harvested; a domain has any number of them, and one is the default."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import Field, ValidationError
from sqlalchemy import select

from admin.harvests.domains.lookup import (
    find_configuration,
    find_domain,
    find_password,
    find_seed_list,
    find_template,
    listed_names,
)
from admin.harvests.domains.names import shortened
from admin.harvests.domains.parts import load_parts
from admin.harvests.domains.seeds import has_seeds
from admin.harvests.input_checks import differences, name_problem, note_problem, refuse
from admin.models.domain_tables import Configuration, Domain
from admin.models.errors import IllegalState, NotFound, Problem
from admin.models.harvest_tables import HARVEST_CONFIGURATIONS, Harvest, Template
from admin.models.job_tables import HarvestJob, JobConfiguration, JobStatus
from admin.models.operation import InputModel, OutputModel, Page
from admin.models.transaction import Right, Transaction
from archive.settings.values.redacted import HIDDEN
from frontier.definition.job import JobError, Profile
from frontier.definition.profile import make_profile

MOST_CONFIGURATIONS: Final = 1_000
LARGEST_NUMBER: Final = 2**62
_LARGEST_ATTRIBUTES: Final = 100_000
_UNENDED: Final = (JobStatus.NEW, JobStatus.SUBMITTED, JobStatus.STARTED)


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
    edition: int | None = None


def attribute_problems(attributes: Mapping[str, Any]) -> list[Problem]:
    """Return what is wrong with keys of the crawl profile, each by its name. Pure."""
    try:
        size = len(json.dumps(attributes, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        return [Problem("attributes", f"the attributes are no JSON: {str(error)[:200]}; write names and plain values")]
    if size > _LARGEST_ATTRIBUTES:
        return [Problem("attributes", f"the attributes have {size} characters; write at most {_LARGEST_ATTRIBUTES}")]
    try:
        Profile.model_validate(attributes)
    except ValidationError as error:
        return [_attribute_problem(each, attributes) for each in error.errors()]
    return []


def create_configuration(transaction: Transaction, domain: str, given: ConfigurationCreation) -> ConfigurationView:
    """Add a configuration to a domain. Raises InvalidInput, and IllegalState when its template can't be used."""
    transaction.require(Right.CURATE)
    row = find_domain(transaction, domain, lock=True)
    defaults = transaction.settings.harvests
    if len(row.configurations) >= MOST_CONFIGURATIONS:
        raise IllegalState(f"{row.name} has {len(row.configurations)} configurations; delete one first")
    values: dict[str, Any] = {
        "name": given.name,
        "comments": given.comments,
        "template": given.template or defaults.default_template,
        "seed_lists": list(dict.fromkeys(given.seed_lists)),
        "passwords": list(dict.fromkeys(given.passwords)),
        "max_objects": defaults.default_max_objects if given.max_objects is None else given.max_objects,
        "max_bytes": defaults.default_max_bytes if given.max_bytes is None else given.max_bytes,
        "max_rate": defaults.default_max_rate if given.max_rate is None else given.max_rate,
        "attributes": dict(given.attributes),
    }
    _check(row, values, None)
    template = find_template(transaction, given.template)
    configuration = Configuration(domain_id=row.id)
    _write(row, configuration, values, template)
    row.configurations.append(configuration)
    transaction.session.flush()
    if row.default_configuration_id is None:
        row.default_configuration = configuration
        transaction.session.flush()
    transaction.audit(
        "configuration.create", "configuration", configuration.id, _full_name(row, given.name), new=_audited(values)
    )
    return _view(row, configuration, template.name)


def change_configuration(
    transaction: Transaction, domain: str, name: str, given: ConfigurationChange
) -> ConfigurationView:
    """Change a configuration. Jobs that were made keep the values that it had."""
    transaction.require(Right.CURATE)
    row = find_domain(transaction, domain, lock=True)
    configuration = find_configuration(row, name)
    transaction.check_edition("configuration", _full_name(row, name), configuration, given.edition)
    present = transaction.session.get_one(Template, configuration.template_id)
    old = _values(configuration, present.name)
    values: dict[str, Any] = {**old, **given.model_dump(exclude={"edition"}, exclude_none=True)}
    for key in ("seed_lists", "passwords"):
        values[key] = list(dict.fromkeys(values[key]))
    values["attributes"] = dict(values["attributes"])
    _check(row, values, name)
    template = present if values["template"] == present.name else find_template(transaction, values["template"])
    _write(row, configuration, values, template)
    if changed := differences(old, values):
        before, after = map(_audited, changed)
        transaction.audit(
            "configuration.change", "configuration", configuration.id, _full_name(row, name), old=before, new=after
        )
    transaction.session.flush()
    return _view(row, configuration, template.name)


def delete_configuration(transaction: Transaction, domain: str, name: str) -> None:
    """Delete a configuration. Raises IllegalState when it is the default or in use, and says where."""
    transaction.require(Right.CURATE)
    row = find_domain(transaction, domain, lock=True)
    configuration = find_configuration(row, name)
    if row.default_configuration_id == configuration.id:
        raise IllegalState(f"{name!r} is the default configuration of {row.name}; make another one the default first")
    if uses := configuration_uses(transaction, [configuration.id]):
        raise IllegalState(f"the configuration {name!r} of {row.name} is used by {'; '.join(uses)}; end that use first")
    template = transaction.session.get_one(Template, configuration.template_id)
    transaction.audit(
        "configuration.delete",
        "configuration",
        configuration.id,
        _full_name(row, name),
        old=_audited(_values(configuration, template.name)),
    )
    row.configurations.remove(configuration)
    transaction.session.flush()


def show_configuration(transaction: Transaction, domain: str, name: str) -> ConfigurationView:
    """Return a configuration with everything that it sets."""
    transaction.require(Right.READ)
    row = find_domain(transaction, domain)
    configuration = find_configuration(row, name)
    return _view(row, configuration, transaction.session.get_one(Template, configuration.template_id).name)


def list_configurations(transaction: Transaction, domain: str) -> Page[ConfigurationView]:
    """List the configurations of a domain."""
    transaction.require(Right.READ)
    row = find_domain(transaction, domain)
    return Page(items=configuration_views(transaction, row), total=len(row.configurations))


def configuration_views(transaction: Transaction, row: Domain) -> list[ConfigurationView]:
    """Return the configurations of a domain. The domain's row then has all its parts."""
    templates = load_parts(transaction, row)
    return [_view(row, each, templates[each.id]) for each in row.configurations]


def configuration_uses(transaction: Transaction, configuration_ids: Sequence[int]) -> list[str]:
    """Return by what these configurations are used, as a message names it: harvests, and jobs that have not ended."""
    session = transaction.session
    harvests = session.scalars(
        select(Harvest.name)
        .join(HARVEST_CONFIGURATIONS, HARVEST_CONFIGURATIONS.c.harvest_id == Harvest.id)
        .where(HARVEST_CONFIGURATIONS.c.configuration_id.in_(configuration_ids))
        .order_by(Harvest.name)
        .distinct()
        .limit(1_000)
    ).all()
    jobs = session.scalars(
        select(HarvestJob.id)
        .join(JobConfiguration, JobConfiguration.job_id == HarvestJob.id)
        .where(JobConfiguration.configuration_id.in_(configuration_ids), HarvestJob.status.in_(_UNENDED))
        .order_by(HarvestJob.id)
        .limit(1_000)
    ).all()
    uses = [f"the harvests {listed_names(harvests)}"] if harvests else []
    return [*uses, f"the jobs {listed_names(list(map(str, jobs)))}, which have not ended"] if jobs else uses


def _check(row: Domain, values: Mapping[str, Any], present: str | None) -> None:
    """Raise InvalidInput for everything that is wrong with a configuration's values."""
    name = values["name"]
    problems = [name_problem("name", name, present), note_problem("comments", values["comments"])]
    if name != present and name in {each.name for each in row.configurations}:
        problems.append(Problem("name", f"{row.name} has a configuration {name!r} already; write another name"))
    if not values["seed_lists"]:
        problems.append(Problem("seed_lists", f"name at least one seed list of {row.name}"))
    for field, find in (("seed_lists", find_seed_list), ("passwords", find_password)):
        for each in values[field]:
            try:
                find(row, each)
            except NotFound as error:
                problems.append(Problem(field, f"{error}; make it first, or leave it out"))
    for field in ("max_objects", "max_bytes"):
        if not -1 <= values[field] <= LARGEST_NUMBER:
            problems.append(
                Problem(field, f"{values[field]} is no limit; write a number from 0 on, or -1 for no limit")
            )
    if not 1 <= values["max_rate"] <= 1_000_000:
        problems.append(Problem("max_rate", f"{values['max_rate']} is no rate; write 1 to 1,000,000 visits a minute"))
    refuse([*problems, *attribute_problems(values["attributes"])])


def _attribute_problem(error: Mapping[str, Any], attributes: Mapping[str, Any]) -> Problem:
    name = ".".join(str(part)[:100] for part in error["loc"])
    if error["type"] == "extra_forbidden":
        try:
            make_profile(_alone(error["loc"], attributes), "the crawl profile")
        except JobError as unknown:
            return Problem(f"attributes.{name}", str(unknown)[:300])
    message = str(error["msg"]).removeprefix("Value error, ")
    if name.startswith("headers"):  # its values may be secrets
        return Problem(f"attributes.{name}", f"the value can't be used: {message[:300]}")
    return Problem(f"attributes.{name}", f"{shortened(str(error['input']))} can't be used: {message[:300]}")


def _alone(path: Sequence[Any], attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the one attribute at this path, without the others."""
    first, rest = path[0], path[1:]
    value = attributes[first]
    return {first: _alone(rest, value) if rest and isinstance(value, Mapping) else value}


def _write(row: Domain, configuration: Configuration, values: Mapping[str, Any], template: Template) -> None:
    for key in ("name", "comments", "max_objects", "max_bytes", "max_rate", "attributes"):
        setattr(configuration, key, values[key])
    configuration.template_id = template.id
    configuration.seed_lists = [find_seed_list(row, each) for each in values["seed_lists"]]
    configuration.passwords = [find_password(row, each) for each in values["passwords"]]


def _values(configuration: Configuration, template: str) -> dict[str, Any]:
    """Return what a configuration says, with names in place of numbers."""
    return {
        "name": configuration.name,
        "comments": configuration.comments,
        "template": template,
        "seed_lists": [each.name for each in configuration.seed_lists],
        "passwords": [each.name for each in configuration.passwords],
        "max_objects": configuration.max_objects,
        "max_bytes": configuration.max_bytes,
        "max_rate": configuration.max_rate,
        "attributes": configuration.attributes,
    }


def _audited(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values as the audit keeps them: of headers, which may be secrets, only the names."""
    attributes = values.get("attributes")
    if not attributes or "headers" not in attributes:
        return dict(values)
    return {**values, "attributes": {**attributes, "headers": dict.fromkeys(attributes["headers"], HIDDEN)}}


def _view(row: Domain, configuration: Configuration, template: str) -> ConfigurationView:
    return ConfigurationView(
        **_values(configuration, template),
        is_default=row.default_configuration_id == configuration.id,
        has_seeds=any(has_seeds(each.seeds) for each in configuration.seed_lists),
        edition=configuration.edition,
    )


def _full_name(row: Domain, name: str) -> str:
    return f"{row.name}: {name}"
