"""Expressions by which rehearsals are chosen: words with `and`, `or`, `not` and parentheses."""

import re
from collections.abc import Callable, Collection

TOKEN = re.compile(r"\s*(\(|\)|[^\s()]+)")
WORDS = frozenset({"and", "or", "not", "(", ")"})
# of a rehearsal: its id, in lower case, and its tags
Test = Callable[[str, Collection[str]], bool]


class WrongExpression(ValueError):
    """It cannot be read."""


def parse(text: str) -> Test:
    """Return the test that an expression is; raises WrongExpression.

    A word holds where it stands in the id of a rehearsal, or is one of its tags.
    """
    parser = _Parser(TOKEN.findall(text))
    test = parser.either()
    if parser.tokens:
        raise WrongExpression(f"{parser.tokens[0]!r} stands where nothing can follow")
    return test


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens

    def either(self) -> Test:
        test = self.both()
        while self._take("or"):
            test = _either(test, self.both())
        return test

    def both(self) -> Test:
        test = self.one()
        while self._take("and"):
            test = _both(test, self.one())
        return test

    def one(self) -> Test:
        if self._take("not"):
            return _not(self.one())
        if self._take("("):
            test = self.either()
            if not self._take(")"):
                raise WrongExpression("a parenthesis is not closed")
            return test
        if not self.tokens or self.tokens[0] in WORDS:
            raise WrongExpression("a word is missing")
        word = self.tokens.pop(0)
        return lambda name, tags: word.lower() in name or word in tags

    def _take(self, token: str) -> bool:
        if self.tokens and self.tokens[0] == token:
            self.tokens.pop(0)
            return True
        return False


def _either(first: Test, second: Test) -> Test:
    return lambda name, tags: first(name, tags) or second(name, tags)


def _both(first: Test, second: Test) -> Test:
    return lambda name, tags: first(name, tags) and second(name, tags)


def _not(test: Test) -> Test:
    return lambda name, tags: not test(name, tags)
