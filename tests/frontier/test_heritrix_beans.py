"""A configuration of Heritrix comes from anybody: what is no configuration, or too much, is refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.heritrix.beans import HEAD

from frontier.definition.heritrix.beans import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_ELEMENTS,
    Bean,
    BeansUnreadable,
    Entries,
    Items,
    Nothing,
    Reference,
    Text,
    as_texts,
    property_lines,
    read_beans,
)

LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE beans [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in zip("abcdefgh", "bcdefghi", strict=True))
    + "]><beans>&i;</beans>"
)


def refused(data: bytes) -> str:
    with pytest.raises(BeansUnreadable) as error:
        read_beans(data)
    message = str(error.value)
    assert "\n" not in message
    assert len(message) < 400
    return message


def test_entities_are_refused_before_they_grow() -> None:
    assert "entity 'a', which is refused" in refused(LAUGHS.encode())


def test_entities_cannot_read_files(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret", "utf-8")
    for declaration in (f'<!ENTITY x SYSTEM "{secret.as_uri()}">', f'<!ENTITY % x SYSTEM "{secret.as_uri()}"> %x;'):
        message = refused(f"<!DOCTYPE beans [{declaration}]><beans>&x;</beans>".encode())
        assert "which is refused" in message
        assert "s3cret" not in message


def test_an_outer_document_type_is_not_read(tmp_path: Path) -> None:
    dtd = tmp_path / "beans.dtd"
    dtd.write_text('<!ENTITY x "s3cret">', "utf-8")
    file = read_beans(f'<!DOCTYPE beans SYSTEM "{dtd.as_uri()}"><beans><bean id="a" class="b.C"/></beans>'.encode())
    assert [bean.name for bean in file.beans] == ["a"]


def test_an_unknown_entity_is_refused() -> None:
    refused(b'<!DOCTYPE beans SYSTEM "beans.dtd"><beans>&x;</beans>')


def test_what_is_no_xml_is_refused_with_its_place() -> None:
    assert "line 2 column 6 is not XML: mismatched tag" in refused(b"<beans>\n<a></b>\n</beans>")
    assert "is not XML" in refused(b"")
    assert "is not XML" in refused(b"import groovy.lang.*\nbeans { }")
    assert "is not XML" in refused(b"\x00\xff\x00")


def test_another_kind_of_file_is_refused() -> None:
    assert "<html> and not <beans>" in refused(b"<html/>")
    assert "order.xml of Heritrix 1" in refused(b"<crawl-order/>")


def test_size_depth_and_number_of_elements_are_bounded() -> None:
    assert "more than 4,000,000 bytes" in refused(b" " * (MAX_BYTES + 1))
    deep = "<list>" * MAX_DEPTH + "</list>" * MAX_DEPTH
    assert "lie within each other" in refused(f"<beans>{deep}</beans>".encode())
    assert "100,000 elements" in refused(f"<beans>{'<a/>' * MAX_ELEMENTS}</beans>".encode())


def test_all_forms_of_values_are_read() -> None:
    file = read_beans(
        (
            HEAD
            + """<bean name="first, second" class="org.example.Outer$Inner" p:size="3" p:other-ref="b">
 <description>words</description>
 <property name="text" value="x"/>
 <property name="long"><value> y </value></property>
 <property name="ref" ref="b"/>
 <property name="none"><null/></property>
 <property name="list"><list><value>1</value><ref local="b"/><bean class="C"/></list></property>
 <property name="map"><map><entry key="k" value="v"/><entry key="r" value-ref="b"/>
   <entry><key><value>n</value></key><list><value>z</value></list></entry></map></property>
 <property name="props"><props><prop key="p">q</prop></props></property>
</bean></beans>"""
        ).encode()
    )
    (bean,) = file.beans
    assert (bean.name, bean.class_name) == ("first", "Inner")
    found = bean.properties
    assert as_texts(found["size"])[0].text == "3"
    assert isinstance(found["other"], Reference)
    assert as_texts(found["text"])[0].text == "x"
    assert as_texts(found["long"])[0].text == " y "
    assert isinstance(found["none"], Nothing)
    assert isinstance(found["list"], Items)
    assert [type(each) for each in found["list"].items] == [Text, Reference, Bean]
    assert isinstance(found["map"], Entries)
    assert list(found["map"].entries) == ["k", "r", "n"]
    assert isinstance(found["props"], Entries)


def test_property_lists_have_the_form_of_java() -> None:
    text = "# no\n! no\na=1\nb : 2\nc 3\nd = x\\\n   y\ne\\ f=\\u0041\\t\\=\n\n  g\nh=\\\\\n"
    assert [(key, value) for _, key, value in property_lines(text)] == [
        ("a", "1"), ("b", "2"), ("c", "3"), ("d", "xy"), ("e f", "A\t="), ("g", ""), ("h", "\\"),
    ]  # fmt: skip


def test_overrides_that_have_no_place_are_kept_apart() -> None:
    overrides = (
        '<bean class="org.springframework.beans.factory.config.PropertyOverrideConfigurer"><property name="properties">'
        "<value>\na.list[1]=x\na.list[7]=x\nnone.x=1\nbroken\na..b=2\na.deep.deeper[0].text=5\n</value></property></bean>"
    )
    bean = '<bean id="a" class="A"><property name="list"><list><value>1</value></list></property></bean>'
    file = read_beans(f"<beans>{overrides}{bean}</beans>".encode())
    assert [each.path for each in file.lost] == ["a.list[7]", "none.x", "broken", "a..b"]
    (found,) = file.beans
    assert [each.text for each in as_texts(found.properties["list"])] == ["1", "x"]


def test_the_largest_lists_take_no_long_time() -> None:
    overrides = "".join(f"a.list[{number}]=x\n" for number in range(15_000))
    text = (
        '<beans><bean class="x.PropertyOverrideConfigurer"><property name="properties">'
        f'<value>{overrides}{"b\\\\" * 100_000}</value></property></bean><bean id="a" class="A"/></beans>'
    )
    file = read_beans(text.encode())
    assert len(as_texts(file.beans[0].properties["list"])) == 10_000
