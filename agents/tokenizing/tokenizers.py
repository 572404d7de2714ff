"""Exact tokenizers of models, instead of the estimate, by the package tiktoken."""

import importlib
import threading
from functools import lru_cache
from typing import Any

from agents.errors import TokenizerError
from agents.tokenizing.tokens import MAX_KEPT, Tokenizer
from tools.text.suggest import nearest

# a character has up to four bytes in UTF-8, and each byte may be a token
MAX_PER_CHARACTER = 4.0
# characters that are counted at once; each cut costs a token at most
MAX_PART = 100_000
_lock = threading.Lock()


@lru_cache
def tiktoken_tokenizer(encoding: str) -> Tokenizer:
    """Return the tokenizer of an encoding, such as "o200k_base".

    One object for all models that have it.

    Nothing is downloaded: its file must be there, where tiktoken keeps such files.

    Raises:
        TokenizerError: the package, the encoding or its file is not there.
    """
    try:
        tiktoken = importlib.import_module("tiktoken")
        files: Any = importlib.import_module("tiktoken.load")
    except ImportError:
        text = "needs the package tiktoken: pip install 'crewline[tiktoken]'"
        raise TokenizerError(text) from None
    try:
        names = tiktoken.list_encoding_names()
    except Exception as error:  # of a plugin, which may raise anything
        raise TokenizerError(f"a plugin of tiktoken fails: {error}") from error
    if encoding not in names:
        near = nearest(encoding, names)
        hint = f"did you mean {near!r}?" if near else f"known: {', '.join(sorted(names))}"
        raise TokenizerError(f"tiktoken has no encoding {encoding!r}; {hint}")
    read = files.read_file

    def read_here(path: str) -> bytes:
        if "://" in path:
            raise FileNotFoundError(path)
        content: bytes = read(path)
        return content

    # it has no other way to say that nothing shall be downloaded, which it does without a timeout
    with _lock:
        files.read_file = read_here
        try:
            encode = tiktoken.get_encoding(encoding).encode_ordinary
        except (OSError, ValueError) as error:
            command = f"python -c \"import tiktoken; tiktoken.get_encoding('{encoding}')\""
            text = (
                f"the file of encoding {encoding} is not there, or damaged ({error}); with the "
                f"variable TIKTOKEN_CACHE_DIR set as for the crew, this gets it: {command}"
            )
            raise TokenizerError(text) from error
        finally:
            files.read_file = read

    @lru_cache(MAX_KEPT)
    def count(text: str) -> int:
        # a million spaces would end the process's task with a panic
        parts = (text[start : start + MAX_PART] for start in range(0, len(text), MAX_PART))
        return sum(len(encode(part)) for part in parts)

    return Tokenizer(count, MAX_PER_CHARACTER, is_exact=True)
