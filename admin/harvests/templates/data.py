"""These models are what people and programs give to the use cases of templates, and what they get."""

from __future__ import annotations

from pydantic import Field

from admin.harvests.templates.comparison import ComparedRow, ValueDifference
from admin.harvests.templates.form_fields import FieldValue, TemplateField
from admin.models.operation import InputModel, OutputModel
from archive.dates import Micros


class NewTemplate(InputModel):
    """The input makes a template with its first version."""

    name: str
    text: str = Field(description="the profile in YAML; kept as it is, to the byte")
    comments: str = ""
    version_comments: str = ""


class TemplateChange(InputModel):
    """The input changes what stands beside the versions. None leaves a value as it is."""

    name: str | None = None
    comments: str | None = None
    edition: int | None = None


class NewVersion(InputModel):
    """The input gives a template a new text."""

    text: str = Field(description="the profile in YAML; kept as it is, to the byte")
    comments: str = ""
    edition: int | None = None


class TemplateCopy(InputModel):
    """The input makes a template from a version of another one."""

    name: str
    version: int | None = Field(None, description="the number of the version; the present one when it is left out")
    comments: str = ""


class TemplateOfJob(InputModel):
    """The input makes a template from the profile of a job."""

    name: str
    comments: str = ""


class TemplateText(InputModel):
    """The input is a text that is not kept yet."""

    text: str


class TextEdit(InputModel):
    """The input changes values in a text that is not kept yet."""

    text: str
    set: dict[str, FieldValue] = Field({}, description="values by dotted keys, such as limits.pages")
    unset: list[str] = Field([], description="dotted keys to remove")


class Edition(InputModel):
    """The input says which edition the actor has read."""

    edition: int | None = None


class TemplateLine(OutputModel):
    """A template line is one line of the list of templates."""

    name: str
    comments: str
    is_active: bool
    version: int
    """The number of the present version."""
    created: Micros
    changed: Micros
    """When the present version was made."""
    changed_by: str
    edition: int


class TemplateView(TemplateLine):
    """A template view holds a template with the text of its present version."""

    text: str
    sha256: str
    configurations: int | None
    """How many configurations use the template; None when there are more than 10,000."""


class VersionLine(OutputModel):
    """A version line is one line of the list of versions."""

    number: int
    comments: str
    created: Micros
    created_by: str
    sha256: str
    characters: int


class VersionView(OutputModel):
    """A version view holds one version with its text."""

    template: str
    number: int
    comments: str
    created: Micros
    created_by: str
    sha256: str
    text: str
    is_present: bool


class TemplateUser(OutputModel):
    """A template user names a configuration that uses a template."""

    domain: str
    configuration: str


class Comparison(OutputModel):
    """A comparison says what differs between two versions: by lines, and by values."""

    old: str
    """Such as default/1."""
    new: str
    is_same: bool
    lines: str
    """The unified difference."""
    rows: list[ComparedRow]
    """The same side by side."""
    values: list[ValueDifference]


class ProblemView(OutputModel):
    """A problem view is one problem of a text."""

    field: str
    message: str
    line: int | None


class Verification(OutputModel):
    """A verification says whether a text can be kept as a template, and shows its values as fields."""

    is_valid: bool
    problems: list[ProblemView]
    text: str
    fields: list[TemplateField]
    """Empty when the text is no YAML."""


class TemplateKeys(OutputModel):
    """Template keys are all keys that a template may have."""

    fields: list[TemplateField]
