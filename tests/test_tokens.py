"""Token text: every byte shows, nothing is invisible, and a stream of tokens reads as its bytes do."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recap.tokens import TextStream, readable_text, visible_form


@pytest.mark.parametrize(
    ("data", "form"),
    [
        (b" the", "\u00b7the"),
        (b"the ", "the\u00b7"),
        (b" a b ", "\u00b7a b\u00b7"),
        (b"   ", "\u00b7\u00b7\u00b7"),
        (b"\n", "\u21b5"),
        (b"\n\n", "\u21b5\u21b5"),
        (b"\t", "\u21e5"),
        (b"", "\u27e8\u27e9"),
        (b"\xf0\x9f", "\u27e8F0 9F\u27e9"),
        (b" \xf0\x9f", "\u00b7\u27e8F0 9F\u27e9"),
        (b"\x98\x80!", "\u27e898 80\u27e9!"),
        ("\U0001f600".encode(), "\U0001f600"),
        ("\ufffd".encode(), "\u27e8EF BF BD\u27e9"),
        (b"\x00\x1b", "\u27e8U+0000\u27e9\u27e8U+001B\u27e9"),
        ("\u200b".encode(), "\u27e8U+200B\u27e9"),
        ("\u202e".encode(), "\u27e8U+202E\u27e9"),
        ("\u00a0".encode(), "\u27e8U+00A0\u27e9"),
        ("\u0301".encode(), "\u25cc\u0301"),
        (b"<b>", "<b>"),
        (b"$x$", "$x$"),
        ("\u05e9\u05dc\u05d5\u05dd".encode(), "\u05e9\u05dc\u05d5\u05dd"),
    ],
)
def test_form_shows_what_is_in_the_bytes(data, form):
    assert visible_form(data) == form


def test_special_tokens_show_their_name():
    assert visible_form(b"", True, "<|im_end|>") == "<|im_end|>"
    assert visible_form(b"</s>", True) == "</s>"


@given(st.binary(max_size=12))
def test_form_is_never_empty_invisible_or_a_replacement_character(data):
    form = visible_form(data)
    assert form
    assert "\ufffd" not in form
    assert form.strip() == form
    for character in form:
        assert unicodedata.category(character) not in {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}


@given(st.text(max_size=30), st.lists(st.integers(0, 60), max_size=8))
def test_stream_of_a_text_cut_anywhere_is_the_text(text, cuts):
    data = text.encode("utf-8", "ignore")
    bounds = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    tokens = [data[start:end] for start, end in pairwise(bounds)]
    stream = TextStream(tokens.__getitem__)
    shown = "".join(stream.push([index]) for index in range(len(tokens))) + stream.finish()
    assert shown == data.decode().replace("\ufffd", "\u27e8EF BF BD\u27e9")


@given(st.lists(st.binary(max_size=4), max_size=8))
def test_stream_of_any_bytes_holds_at_most_one_character_and_loses_none(tokens):
    stream = TextStream(tokens.__getitem__)
    shown = "".join(stream.push([index]) for index in range(len(tokens)))
    rest = stream.finish()
    assert "\ufffd" not in shown + rest
    assert rest.count(" ") <= 2, "an unfinished character has three bytes at most"
    assert stream.finish() == ""


def test_stream_holds_half_a_character_back_and_flushes_it_at_the_end():
    tokens = [b"a\xf0\x9f", b"\x98\x80b", b"\xc3"]
    stream = TextStream(tokens.__getitem__)
    assert [stream.push([0]), stream.push([1]), stream.push([2])] == ["a", "\U0001f600b", ""]
    assert stream.finish() == "\u27e8C3\u27e9"


def test_special_tokens_add_no_text():
    stream = TextStream([b"a", b"</s>"].__getitem__, lambda token_id: token_id == 1)
    assert stream.push([0, 1, 0]) == "aa"


def test_readable_text_keeps_lines_and_emoji_and_shows_what_turns_text_around():
    family = "\U0001f468\u200d\U0001f469"
    assert readable_text(f"a\n\tb {family}") == f"a\n\tb {family}"
    assert readable_text("a\u202eb") == "a\u27e8U+202E\u27e9b"
