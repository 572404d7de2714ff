"""Exact tokenizers of models, instead of the estimate: those of the package tiktoken."""

import importlib
import threading
from functools import lru_cache
from typing import Any

from agents.errors import TokenizerError
from agents.tokens import MAX_KEPT, Tokenizer
from tools.suggest import nearest

# a character has up to four bytes in UTF-8, and each byte may be a token
MAX_PER_CHARACTER = 4.0
_lock = threading.Lock()


@lru_cache
def tiktoken_tokenizer(encoding: str) -> Tokenizer:
    """The tokenizer of an encoding, such as "o200k_base"; one object for all models that have it.

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
    names = tiktoken.list_encoding_names()
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
                f"the file of encoding {encoding} is not there ({error}); with the variable "
                f"TIKTOKEN_CACHE_DIR set as for the crew, this gets it: {command}"
            )
            raise TokenizerError(text) from error
        finally:
            files.read_file = read
    return Tokenizer(
        lru_cache(MAX_KEPT)(lambda text: len(encode(text))), MAX_PER_CHARACTER, is_exact=True
    )
