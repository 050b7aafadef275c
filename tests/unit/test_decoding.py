"""Bytes to characters: a declaration is believed as far as the bytes agree."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wellspring.sources.decoding import HEAD, decoded

UMLAUTS = "Über Öl für Äxte"
XML = '<?xml version="1.0" encoding="{}"?><title>{}</title>'
CONTENT_TYPES = st.text() | st.sampled_from(
    [
        *(
            f"text/html; charset={name}"
            for name in ("utf-8", "utf-16", "utf-32", "ascii", "big5", "hz", "utf-7")
        ),
        *(
            f"text/xml;charset='{name}'"
            for name in ("idna", "punycode", "rot13", "base64", "zip", "undefined")
        ),
        *(
            f"charset={name}"
            for name in ("", "\0", "..", "a" * 5_000, "unicode_escape", "aliases", "oem", "ü")
        ),
    ]
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_byte_order_mark_counts_more_than_any_declaration(encoding):
    assert decoded(f"\ufeff{UMLAUTS}".encode(encoding), "text/xml; charset=koi8-r") == UMLAUTS


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_wide_characters_are_told_by_the_first_tag(encoding):
    assert decoded(f"<p>{UMLAUTS}".encode(encoding), "") == f"<p>{UMLAUTS}"


@pytest.mark.parametrize(
    ("written", "body", "content_type"),
    [
        pytest.param(UMLAUTS, UMLAUTS.encode(), "", id="UTF-8 that nobody declared"),
        pytest.param(
            UMLAUTS, UMLAUTS.encode(), "text/html; charset=iso-8859-1", id="UTF-8 that is declared otherwise"
        ),
        pytest.param(UMLAUTS, UMLAUTS.encode("latin-1"), "", id="Latin-1 that nobody declared"),
        pytest.param(
            UMLAUTS, UMLAUTS.encode("latin-1"), "text/html; charset=utf-8", id="Latin-1 declared as UTF-8"
        ),
        pytest.param(
            "“€”", "“€”".encode("cp1252"), "text/html; charset=ISO-8859-1", id="windows-1252 as Latin-1"
        ),
        pytest.param(
            "Привет", "Привет".encode("cp1251"), 'text/html; charset="windows-1251"', id="in quotes"
        ),
        pytest.param(
            "Привет", "Привет".encode("koi8-r"), "text/html;Charset = KOI8-R ; a=b", id="in upper case"
        ),
        pytest.param("Привет", "Привет".encode("cp1251"), "text/html; charset=x-cp1251", id="an old name"),
        pytest.param(
            "①髙", "①髙".encode("cp932"), "text/html; charset=Shift_JIS", id="Shift_JIS as Windows means it"
        ),
        pytest.param(
            "漢字", "漢字".encode("shift_jis"), "text/html; charset=x-sjis", id="Shift_JIS's old name"
        ),
        pytest.param(
            "漢字", "漢字".encode("iso-2022-jp"), "text/html; charset=iso-2022-jp", id="Japanese in ASCII"
        ),
        pytest.param(
            "똠방", "똠방".encode("cp949"), "text/html; charset=euc-kr", id="Korean as Windows means it"
        ),
        pytest.param(
            "朱镕基",
            "朱镕基".encode("gb18030"),
            "text/html; charset=gb2312",
            id="Chinese beyond its first set",
        ),
        pytest.param("ไทย€", "ไทย€".encode("cp874"), "text/html; charset=windows-874", id="Thai"),
        pytest.param("İğş€", "İğş€".encode("cp1254"), "text/html; charset=iso-8859-9", id="Turkish"),
        pytest.param("äx", b"\xe4x", "text/html; charset=no-such-thing", id="an encoding that nobody knows"),
        pytest.param(
            "äx", b"\xe4x", "text/html; charset=utf-7", id="an encoding that no document may ask for"
        ),
        pytest.param(
            r"\x3c", rb"\x3c", "text/html; charset=unicode_escape", id="one that is no encoding of text"
        ),
        pytest.param("plain", b"plain", "text/html; charset=utf-16", id="ASCII that is declared as wide"),
        pytest.param(
            "a+ADw-b", b"a+ADw-b", "text/html; charset=utf-7", id="an encoding that would hide tags"
        ),
    ],
)
def test_text_is_read_as_it_was_written(written, body, content_type):
    assert decoded(body, content_type) == written


@pytest.mark.parametrize(
    ("document", "encoding"),
    [
        pytest.param(XML.format("windows-1251", "Привет"), "cp1251", id="an XML declaration"),
        pytest.param('<html><meta charset="windows-1251"><p>Привет', "cp1251", id="a meta element"),
        pytest.param(
            "<META http-equiv=Content-Type content='text/html; charset=windows-1251'><p>Привет",
            "cp1251",
            id="an old meta element",
        ),
        pytest.param(XML.format("utf-16", "plain "), "ascii", id="XML that was saved otherwise than it says"),
    ],
)
def test_the_document_may_declare_itself(document, encoding):
    assert decoded(document.encode(encoding), "text/html") == document


def test_the_server_is_believed_before_the_document():
    document = XML.format("koi8-r", "Привет")
    assert decoded(document.encode("cp1251"), "text/xml; charset=windows-1251") == document


def test_a_document_declares_itself_at_its_beginning():
    late = " " * HEAD + '<meta charset="windows-1251">é'
    assert decoded(late.encode("latin-1"), "") == late


def test_one_bad_byte_among_good_ones_spoils_nothing_else():
    assert decoded(UMLAUTS.encode() + b"\xff", "text/xml; charset=utf-8") == f"{UMLAUTS}\ufffd"


def test_a_character_that_was_cut_spoils_nothing_else():
    assert decoded(f"{UMLAUTS}€".encode()[:-1], "") == f"{UMLAUTS}\ufffd"


@given(st.binary(), CONTENT_TYPES)
@example(b"\xff\xfe", "")
@example(b"\xff\xfe\x00\xd8", "")
@example(b"<\x00\x00", "")
def test_any_bytes_are_some_text(body, content_type):
    assert isinstance(decoded(body, content_type).encode(), bytes)


@given(st.text(), CONTENT_TYPES)
def test_utf_8_beyond_ascii_is_always_read_as_such(text, content_type):
    body = f"é{text}".encode()
    assert decoded(body, content_type) == f"é{text}"
