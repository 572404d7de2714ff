"""Which words of an answer nearly were a signal."""

import pytest

from crew.routing.rules import Route
from crew.routing.signals import Signal
from crew.why.near import near_signals


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("Please send the form; the start is pending.", []),
        ("It is the end [to it", ["[To IT]"]),
        ("END", ["[END]"]),
        ("[end", ["[END]"]),
        ("```\n[END]\n```", ["[END] stands in a code fence"]),
    ],
)
def test_what_nearly_was_a_signal(answer: str, said: list[str]):
    routes = [
        Route(Signal.of(text), None, "", "") for text in ("[END]", "[ART]", "[To IT]", "[HR]")
    ]
    found = list(near_signals(routes, answer))
    assert len(found) == len(said), found
    assert all(one.startswith(text) for one, text in zip(found, said, strict=True))
