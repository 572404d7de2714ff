"""What is hidden in a text is shown, in terminals and in JSON."""

import json

import pytest

from tools.text.texts import visible, visible_json

HIDDEN = {
    "\x1b": r"\x1b",
    "\u200b": r"\u200b",
    "\u2060": r"\u2060",
    "\ufeff": r"\ufeff",
    "\xad": r"\xad",
    "\u202e": r"\u202e",
    "\u180e": r"\u180e",
    "\U000e0041": r"\U000e0041",
    "\u200d": r"\u200d",
}


@pytest.mark.parametrize("character", HIDDEN, ids=ascii)
def test_a_hidden_character_is_shown(character: str):
    """Also in JSON, which means the same then."""
    text = f"pay{character}ment"
    assert visible(text) == f"pay{HIDDEN[character]}ment"
    document = json.dumps(text, ensure_ascii=False)
    assert character not in visible_json(document)
    assert json.loads(visible_json(document)) == text


@pytest.mark.parametrize("text", ["Tiếng Việt", "می\u200cخواهم", "👩\u200d💻", "❤\ufe0f", "a\tb\n"])
def test_what_scripts_need_stays(text: str):
    """Joiners between letters that are not ASCII, and the forms of emoji."""
    assert visible(text) == text
