"""What of an answer is sent live: pieces that are the beginning of the whole, without signals."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from crew.journal.wire import RunEvent
from server.protocols.speech import Speech

WHEN = "2026-01-01T00:00:00.000Z"
SIGNALS = ("[END]", "[ROUTE_B]", "weiter")
WORDS = st.sampled_from(
    [
        "Hello ",
        "[",
        "[ ",
        "E",
        "END",
        "eNd ",
        "]",
        "[END]",
        "ROUTE_",
        "we",
        "iter",
        " ",
        "İ",
        "ß",
        "x",
    ]
)
WRITTEN = (*SIGNALS, "[ enD ]", "[\nROUTE_b]", "WEITER")


def event(kind: str, content: str, seq: int | None = None, **metadata: Any) -> RunEvent:
    known = {"agent_id": "a", "group": None, **metadata}
    return RunEvent(kind, seq, "A", content, WHEN, known, "")


@given(st.lists(WORDS), st.sampled_from([None, *WRITTEN]), st.booleans())
def test_pieces_and_the_rest_are_the_answer(pieces: list[str], signal: str | None, shows: bool):
    """Whatever is written in whatever pieces, with or without the signal that is acted on."""
    written = [*pieces, *([signal] if signal else [])]
    speech, sent = Speech(SIGNALS, shows_signals=shows), ""
    for piece in written:
        sent += speech.piece(event("agent_delta", piece))
    whole = "".join(written)
    response = event("agent_response", whole, 2, tool_calls=[])
    assert speech.settle(response) == []
    handoff = event("handoff", "a → b", 3, signal=signal)
    (told, text), (after, _) = speech.settle(handoff)
    assert (told, after) == (response, handoff)
    if shows or signal is None:
        assert text == whole
    else:
        assert len(text) <= len(whole) - len(signal)
        assert whole.casefold().startswith(text.casefold()) or signal.casefold() in text.casefold()
    rest = speech.rest(response.speaker, text)
    # live pieces never go beyond what is said in the end
    assert (sent + rest).rstrip() == text.rstrip()
    if not shows:
        assert not any(one.casefold() in sent.casefold() for one in SIGNALS)


def test_a_request_that_is_made_again():
    """Its text follows what was sent of the first one, and nothing comes twice."""
    speech, who = Speech(SIGNALS), ("a", "", "", "")
    first = event("agent_delta", "Part one and", begins=True)
    assert speech.piece(first) == "Part one and"
    assert speech.piece(event("agent_delta", "[E")) == ""
    again = event("agent_delta", "Whole ", begins=True)
    assert speech.piece(again) == "\n\nWhole "
    assert speech.piece(event("agent_delta", "answer")) == "answer"
    assert speech.rest(who, "Whole answer here.") == " here."
    # the second one breaks before any of it is sent
    speech.piece(first)
    assert speech.piece(event("agent_delta", "[", begins=True)) == ""
    assert speech.has_pieces(who)
    assert speech.rest(who, "No.") == "\n\nNo."


def test_an_attempt_that_failed(tmp_path: Any):
    """Was sent in part: the whole answer follows it."""
    speech = Speech(SIGNALS)
    assert speech.piece(event("agent_delta", "I thi")) == "I thi"
    assert speech.rest(("a", "", "", ""), "No.") == "\n\nNo."
    assert speech.rest(("a", "", "", ""), "No.") == "No."
