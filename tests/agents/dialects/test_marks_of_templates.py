"""Marks of chat templates that a server leaves around an answer, whole and in pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.written.thoughts import AnswerStream, split_thoughts

# by the text: the thoughts, and the answer
TEXTS: dict[str, tuple[str, str]] = {
    "Hello there.<|im_end|>": ("", "Hello there."),
    "Hello there.<|eot_id|>": ("", "Hello there."),
    "Hello there.</s>": ("", "Hello there."),
    "Hello there.<end_of_turn>\n": ("", "Hello there."),
    "Hello there.<|im_end|><|endoftext|>": ("", "Hello there."),
    "Hello there.<｜end▁of▁sentence｜>": ("", "Hello there."),
    "<|im_start|>assistant\nHello there.": ("", "Hello there."),
    "<start_of_turn>model\nHello there.<end_of_turn>": ("", "Hello there."),
    "<|start_header_id|>assistant<|end_header_id|>\n\nHello there.<|eot_id|>": ("", "Hello there."),
    "<think>hm</think>\n<answer>\nYes.\n</answer>": ("hm", "Yes.\n"),
    "<think>hm</think>\n\n<response>Yes.</response>": ("hm", "Yes."),
    "<think>hm</think><|begin_of_box|>42<|end_of_box|>": ("hm", "42"),
    "<|begin_of_box|>42<|end_of_box|>": ("", "42"),
    "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>X<|return|>": (
        "hm",
        "X",
    ),
    "<think>a</think>\n<think>b</think>Yes.": ("a\n\nb", "Yes."),
    "<|channel|>analysis<|message|>hm<|start|>assistant<|channel|>final<|message|>X<|return|>": (
        "hm",
        "X",
    ),
    "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>final<|message|>X": (
        "I look.",
        "X",
    ),
    # what is none of them
    "Use <s>this</s>": ("", "Use <s>this</s>"),
    "Write <|im_end|> behind it.": ("", "Write <|im_end|> behind it."),
    "1 < 2": ("", "1 < 2"),
    "It ends with <": ("", "It ends with <"),
    "<b>bold</b>": ("", "<b>bold</b>"),
    "<answer>42</answer>": ("", "<answer>42</answer>"),
    "<think>hm</think>I say <answer>": ("hm", "I say <answer>"),
    "<think>hm</think><": ("hm", "<"),
    'It was <s class="old">$5</s>': ("", 'It was <s class="old">$5</s>'),
    "a <s>b</s> c<|im_end|>": ("", "a <s>b</s> c"),
    "a <a href='x'>": ("", "a <a href='x'>"),
}


@pytest.mark.parametrize("text", TEXTS)
def test_marks_are_no_words(text: str):
    assert split_thoughts(text) == TEXTS[text]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 200])
@pytest.mark.parametrize("text", TEXTS)
def test_in_pieces_as_whole(text: str, size: int):
    """What is shown as it comes is what the answer is in the end."""
    stream = AnswerStream()
    shown = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
    assert "".join([*shown, stream.rest()]).strip() == TEXTS[text][1].strip()


def test_words_beside_a_call_that_are_all_there_is():
    """They are the answer of gpt-oss."""
    assert split_thoughts("<|channel|>commentary<|message|>I look.<|end|>") == ("", "I look.")


PIECES = (
    *("<think>hm</think>", "<answer>", "</answer>", "<|im_end|>", "<eos>", "</s>", "<s>", "<b>"),
    *("<", "<|", "x", "Hello", " ", "\n"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=8), st.integers(1, 12))
def test_any_text_in_pieces_as_whole(words: list[str], size: int):
    text, stream = "".join(words), AnswerStream()
    shown = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
    assert "".join([*shown, stream.rest()]).strip() == split_thoughts(text)[1].strip()
