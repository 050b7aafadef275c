"""Feeds that are not quite XML become XML, and what is XML stays what it is."""

import time
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellspring.sources.mending import is_well_formed, mended

LEGAL = st.text(st.characters(exclude_categories=("Cs", "Cc", "Cn")) | st.sampled_from("\t\n\r&<>'\"]"))
PIECES = st.one_of(
    LEGAL.map(escape),
    LEGAL.map(lambda text: f"<![CDATA[{text.replace(']]>', '')}]]>"),
    LEGAL.map(lambda text: f"<b x={quoteattr(text)}/>"),
    LEGAL.map(lambda text: f"<!--{text.replace('-', '')}-->"),
    st.sampled_from(
        [
            "&lt;",
            "&amp;amp;",
            "&quot;",
            "&apos;",
            "&#38;",
            "&#x3C;",
            "&#13;",
            "<a x='&#10;&#9;'/>",
            "&#x1F600;",
        ]
    ),
)


def as_data(document):
    root = ElementTree.fromstring(document)
    return [(one.tag, one.attrib, one.text, one.tail) for one in root.iter()]


def text_of(document):
    return "".join(ElementTree.fromstring(mended(document)).itertext())


@given(st.lists(PIECES).map(lambda pieces: f"<r>{''.join(pieces)}</r>"))
def test_what_is_well_formed_keeps_its_meaning(document):
    assert is_well_formed(document)
    assert as_data(mended(document)) == as_data(document)


@pytest.mark.parametrize(
    ("document", "text"),
    [
        pytest.param("<r>fish & chips</r>", "fish & chips", id="a stray ampersand"),
        pytest.param("<r>a?b=1&c=2</r>", "a?b=1&c=2", id="an address"),
        pytest.param("<r>R&D; more</r>", "R&D; more", id="a name that is no entity"),
        pytest.param("<r>caf&eacute;&nbsp;&hellip;</r>", "café\u00a0…", id="HTML's own entities"),
        pytest.param("<r>&LT;b&GT; &AMP;</r>", "<b> &", id="entities in upper case"),
        pytest.param("<r>&amp; &lt;b&gt;</r>", "& <b>", id="what is right already"),
        pytest.param("<r>a\x00b\x08c\x0bd\uffff</r>", "abcd", id="forbidden characters"),
        pytest.param("<r>one\x0ctwo</r>", "one two", id="a form feed parts words"),
        pytest.param("<r>a&#0;b&#x1F;c&#xFFFF;d</r>", "abcd", id="forbidden characters as numbers"),
        pytest.param("<r>&#xD83D;&#xDE00;</r>", "\U0001f600", id="the two halves of a pair"),
        pytest.param("<r>a&#xD83D;b</r>", "a\ufffdb", id="one half of a pair"),
        pytest.param("<r>&#9999999;</r>", "\ufffd", id="a number beyond all characters"),
        pytest.param("<r>don&#146;t</r>", "don’t", id="the number that Windows gives it"),
        pytest.param(
            "<r><![CDATA[a & &eacute; <b>]]> & </r>", "a & &eacute; <b> & ", id="CDATA is left alone"
        ),
        pytest.param("<!DOCTYPE r [<!ENTITY x 'a'>]><r>a & b</r>", "a & b", id="a DTD is left alone"),
    ],
)
def test_what_is_not_well_formed_is_mended(document, text):
    assert text_of(document) == text


@pytest.mark.parametrize(
    "document",
    [
        pytest.param("<r>", id="an element that is not closed"),
        pytest.param("<r></r><r></r>", id="two roots"),
        pytest.param("<r><a:b/></r>", id="a prefix that nobody declared"),
        pytest.param("<r>&nbsp;</r>", id="an entity that nobody declared"),
        pytest.param("", id="nothing"),
        pytest.param("plain", id="no markup"),
    ],
)
def test_what_is_no_xml_is_told(document):
    assert not is_well_formed(document)


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_can_be_asked_about_and_mended(document):
    is_well_formed(document)
    assert "\x00" not in mended(document)


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "&",
            "&a",
            "&#",
            "&#x",
            "&#1;",
            "&#xD800;",
            "&amp;",
            "<",
            "<!--",
            "<![CDATA[",
            "]]>",
            "<a ",
            "]",
            "] ",
        ),
        *("<!DOCTYPE ", "<!DOCTYPE [", "<!DOCTYPE x [ ] ", "\x00", "<?"),
    ],
)
def test_a_million_characters_of_anything_are_mended_in_time(piece):
    document = piece * (1_000_000 // len(piece))
    began = time.process_time()
    mended(document)
    is_well_formed(document)
    assert time.process_time() - began < 3


def test_entities_that_would_grow_without_end_are_no_xml():
    bomb = "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 12))
    began = time.process_time()
    assert not is_well_formed(f"<!DOCTYPE r [<!ENTITY a0 'ha'>{bomb}]><r>&a11;</r>")
    assert time.process_time() - began < 3
