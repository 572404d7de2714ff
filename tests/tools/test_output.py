"""What the model is shown of outputs: cut each, cut in all, notes not counted."""

from hypothesis import given
from hypothesis import strategies as st

from tools.calls import MAX_OUTPUT_BYTES, ToolCall, ToolResult
from tools.handlers.output import format_results, truncate_outputs


def results(*outputs: str) -> list[ToolResult]:
    return [
        ToolResult.of(ToolCall(str(n), "T"), "success", output) for n, output in enumerate(outputs)
    ]


def test_one_output_is_cut_with_a_note():
    """2,000 characters, then how many there were."""
    assert truncate_outputs(results("x" * 2001), 2000, 4000) == [
        "x" * 2000 + "\n\n[⚠️ OUTPUT TRUNCATED - Original size: 2001 characters]"
    ]
    assert truncate_outputs(results("x" * 2000), 2000, 4000) == ["x" * 2000]


def test_a_tool_may_say_how_much_is_shown():
    """More than others, or less; what others are shown does not depend on it."""
    call = ToolCall("own", "T")
    long = ToolResult.of(call, "success", "x" * 50, facts={"shown_chars": 40})
    texts = truncate_outputs([long, *results("a" * 6, "b" * 6)], 10, 10)
    assert texts[0] == "x" * 40 + "\n\n[⚠️ OUTPUT TRUNCATED - Original size: 50 characters]"
    assert texts[1] == "a" * 6
    assert texts[2].startswith("bbbb\n")
    short = ToolResult.of(call, "success", "x" * 8, facts={"shown_chars": 4})
    assert truncate_outputs([short], 10, 10)[0].startswith("xxxx\n")


def test_all_outputs_together_are_cut():
    """The one that crosses is cut, later ones are only named, and an empty one stays as it is."""
    texts = truncate_outputs(results("a" * 6, "b" * 6, "c", ""), 100, 10)
    assert texts[0] == "a" * 6
    assert texts[1] == "bbbb\n\n[⚠️ OUTPUT TRUNCATED - Original size: 6 characters]"
    assert texts[2] == "[⚠️ OUTPUT OMITTED - Original size: 1 characters]"
    assert texts[3] == ""


@given(st.lists(st.text()), st.integers(1, 50), st.integers(1, 100))
def test_never_more_than_the_limits(outputs: list[str], each: int, total: int):
    """Without their notes the texts keep to both limits, and each is the beginning of its output."""
    texts = [
        text.partition("\n\n[⚠️ OUTPUT")[0] if "[⚠️ OUTPUT" in text else text
        for text in truncate_outputs(results(*outputs), each, total)
    ]
    texts = ["" if text.startswith("[⚠️ OUTPUT") else text for text in texts]
    assert all(len(text) <= each for text in texts)
    assert sum(map(len, texts)) <= total
    assert all(output.startswith(text) for output, text in zip(outputs, texts, strict=True))


def test_a_huge_output_is_kept_to_64_kib_and_its_size_is_known():
    """The event carries 64 KiB, never half a character."""
    result = ToolResult.of(ToolCall("1", "T"), "success", "é" * 40_000)
    size = len(result.output.encode())
    assert MAX_OUTPUT_BYTES - 70 < size <= MAX_OUTPUT_BYTES
    assert result.output.startswith("ééé")
    assert result.output.endswith("ééé")
    assert result.facts == {"truncated": True}
    assert result.output_chars == 40_000
    assert "Original size: 40000" in truncate_outputs([result], 65_536, 70_000)[0]


def test_the_block_for_text_calls_is_that_of_the_contract():
    """Word for word."""
    block = format_results([("A", "success", "1"), ("B", "timeout", "late")])
    expected = "\n[📊 TOOL EXECUTION RESULTS]\n\nA:\n  Status: success\n  Output: 1\n\nB:\n  Status: error\n  Output: late\n\n[END RESULTS]\n"
    assert block == expected
