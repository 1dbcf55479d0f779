"""These pages show the configurations of a domain, and make, change, copy and delete them."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.harvests.domains import configurations as use_cases
from admin.harvests.domains.configurations import ConfigurationChange, ConfigurationCreation, ConfigurationView
from admin.harvests.domains.domain import DomainChange, DomainView, change_domain, show_domain
from admin.harvests.templates.catalogue import list_templates, show_template
from admin.harvests.templates.yaml_edit import block_lines
from admin.models.transaction import Right
from admin.web.forms.configuration_form import ConfigurationForm
from admin.web.forms.limit_inputs import limit_input, size_input
from admin.web.page import carry_out, done, needs, page, read, reading, saving, site, with_long_lists

BLUEPRINT: Final = Blueprint("configurations", __name__, url_prefix="/<name>/configurations")
_LISTS: Final = ("seed_lists", "passwords")
_LONGEST_NAME: Final = 100
_MOST_TEMPLATES: Final = 500


@BLUEPRINT.route("/new", methods=["GET", "POST"], endpoint="create")
@with_long_lists
@needs(Right.CURATE)
def create(name: str) -> Response:
    """Add a configuration to a domain; `copy_of` names one whose values the form shows."""
    copied = request.args.get("copy_of", "")
    with reading() as opened:
        domain = show_domain(opened, name)
        original = use_cases.show_configuration(opened, name, copied) if copied else None
    form = ConfigurationForm(_copied(original) if original is not None else _first(domain))
    if form.is_sent and form.accept():
        made = form.run(saving(use_cases.create_configuration, name), ConfigurationCreation, form.given)
        if made is not None:
            return done(f"Configuration {made.name} was made.", "domains.show", name=domain.name)
    return _page(form, domain, None)


@BLUEPRINT.route("/<configuration>", methods=["GET", "POST"], endpoint="edit")
@with_long_lists
@needs(Right.READ, changes=Right.CURATE)
def edit(name: str, configuration: str) -> Response:
    """Show a configuration, and change it."""
    with reading() as opened:
        domain = show_domain(opened, name)
        found = use_cases.show_configuration(opened, name, configuration)
    form = ConfigurationForm(_values(found))
    if (
        form.is_sent
        and form.accept()
        and form.is_saved_by(
            saving(use_cases.change_configuration, name, configuration),
            ConfigurationChange,
            form.given,
            lambda: _values(read(use_cases.show_configuration, name, configuration)),
        )
    ):
        return done("The configuration was saved.", "domains.show", name=domain.name)
    return _page(form, domain, found)


@BLUEPRINT.post("/<configuration>/default", endpoint="make_default")
@needs(Right.CURATE)
def make_default(name: str, configuration: str) -> Response:
    """Make a configuration the default of its domain."""
    carry_out(change_domain, name, DomainChange(default_configuration=configuration))
    return done(f"{configuration} is the default configuration now.", "domains.show", name=name)


@BLUEPRINT.post("/<configuration>/delete", endpoint="delete")
@needs(Right.CURATE)
def delete(name: str, configuration: str) -> Response:
    """Delete a configuration that is neither the default nor in use."""
    carry_out(use_cases.delete_configuration, name, configuration)
    return done(f"Configuration {configuration} was deleted.", "domains.show", name=name)


def _first(domain: DomainView) -> dict[str, Any]:
    """Return what the form of a new configuration shows first: the values that new domains get."""
    defaults = site().settings.harvests
    return {
        "name": "",
        "comments": "",
        "template": defaults.default_template,
        "seed_lists": [each.name for each in domain.seed_lists[:1]],
        "passwords": [],
        "max_bytes": size_input(defaults.default_max_bytes),
        "max_objects": limit_input(defaults.default_max_objects),
        "max_rate": defaults.default_max_rate,
        "attributes": "",
    }


def _copied(original: ConfigurationView) -> dict[str, Any]:
    values = _values(original)
    del values["edition"]
    return {**values, "name": f"{original.name[: _LONGEST_NAME - 5]} copy"}


def _values(found: ConfigurationView) -> dict[str, Any]:
    values = found.model_dump(include={"name", "comments", "template", "max_rate", "edition", *_LISTS})
    values.update(max_bytes=size_input(found.max_bytes), max_objects=limit_input(found.max_objects))
    lines = (line for key, value in found.attributes.items() for line in block_lines(key, value))
    return {**values, "attributes": "\n".join(lines)}


def _page(form: ConfigurationForm, domain: DomainView, found: ConfigurationView | None) -> Response:
    with reading() as opened:
        names = [each.name for each in list_templates(opened, is_active=True, limit=_MOST_TEMPLATES).items]
        present = str(form.value("template"))
        if present in names:
            form.follow(show_template(opened, present).text)
    return page(
        "domains/configuration.html",
        422 if form.has_problems else 200,
        form=form,
        domain=domain,
        configuration=found,
        templates=names if present in names or not present else [present, *names],
    )
