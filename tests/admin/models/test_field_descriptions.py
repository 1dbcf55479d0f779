"""admin/models/field_descriptions.py and lazy models: documentation is read, and validators are built, when needed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from pydantic import Field, create_model

from admin.models.field_descriptions import DescribedSchema, descriptions
from admin.models.operation import InputModel, Page


class Parent(InputModel):
    """A model with descriptions."""

    inherited: int
    """Comes from the parent."""
    redefined: int
    """Is said otherwise by the child."""


class Child(Parent):
    """A model with descriptions of its own, and one in words of pydantic."""

    redefined: int
    own: int = 0
    """Has a docstring
    of two lines."""
    named: int = Field(0, description="given to Field")
    """Not taken."""


def test_docstrings_of_attributes_are_the_descriptions_of_fields() -> None:
    found = Child.model_json_schema(schema_generator=DescribedSchema)["properties"]
    assert {name: each.get("description") for name, each in found.items()} == {
        "inherited": "Comes from the parent.",
        "redefined": None,
        "own": "Has a docstring\nof two lines.",
        "named": "given to Field",
    }
    assert "total" in descriptions(Page[Child])


def test_a_model_is_built_when_its_first_value_is_checked_by_many_threads_at_once() -> None:
    models = [create_model(f"Made{number}", __base__=Child, last=(int, number)) for number in range(20)]
    assert not any(model.__pydantic_complete__ for model in models)
    together = Barrier(8)

    def check(_: int) -> list[int]:
        together.wait(60)
        return [model.model_validate({"inherited": 1, "redefined": 2}).model_dump()["last"] for model in models]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(check, range(8))) == [list(range(20))] * 8
