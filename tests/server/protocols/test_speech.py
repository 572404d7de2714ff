"""What of an answer is sent live: pieces that are the beginning of the whole, without signals."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from crew.journal.wire import RunEvent
from crew.routing.signals import Signal, ending_signal
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


def ending_of(*events: RunEvent) -> str:
    """The words with which a run ends, or waits."""
    speech = Speech(SIGNALS)
    (*_, last) = [one for given in events for one in speech.settle(given)]
    return last.text


def test_who_waits_repeats_no_words_that_led_on():
    said, on = event("agent_response", "Plan. [END]"), event("handoff", "", signal="[END]")
    for reason in ("paused", "cancelled"):
        assert ending_of(said, on, event("done", "", reason=reason, answer="Plan. [END]")) == ""
    assert (
        ending_of(said, on, event("done", "", reason="max_rounds", answer="Plan. [END]")) == "Plan."
    )


def test_a_question_in_words_that_led_on_before_is_heard():
    """The same words again are the newest ones."""
    said = event("agent_response", "How many?")
    done = event("done", "", reason="paused", answer="How many?")
    assert ending_of(said, event("tool_start", ""), said, event("pause", ""), done) == "How many?"


def test_a_warning_before_the_end_ends_nothing():
    said = event("agent_response", "It is over.")
    done = event("done", "", reason="max_handoffs", answer="It is over.")
    assert ending_of(said, event("warning", "too many"), done) == "It is over."


def test_an_end_of_a_word_is_no_signal():
    signals = [Signal.of(one) for one in ("done", "[END]")]
    assert ending_signal("It is undone", signals) == ""
    assert ending_signal("It is done ", signals) == "done"
    assert ending_signal("It is [ end ]", signals) == "[ end ]"
    assert ending_signal("[END] It is", signals) == ""
