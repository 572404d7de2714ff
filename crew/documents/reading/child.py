"""The process that reads one file: it learns what to read, gives up all else, reads, answers, ends.

Run: python -P -m crew.documents.reading.child
"""

import os
import sys
import sysconfig
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from crew.documents.cuts import TooManyPieces, cut_text
from crew.documents.reading.marked import MarkedText, UnreadableFile
from crew.documents.reading.results import ReadPiece, ReadRequest, ReadText
from crew.memory.words import Words
from tools.confinement.confine import confine

MEMORY_MB, CPU_SECONDS = 1024, 60
FOLDER = "crew.documents.reading"
READERS = {
    "txt": ("plain", "read_plain"),
    "md": ("plain", "read_markdown"),
    "csv": ("plain", "read_csv"),
    "json": ("plain", "read_json_file"),
    "html": ("html", "read_html"),
    "eml": ("mail", "read_mail"),
    "pdf": ("pdf", "read_pdf"),
    "docx": ("word.word_file", "read_docx"),
    "xlsx": ("office", "read_xlsx"),
    "pptx": ("office", "read_pptx"),
}
Read = Callable[[bytes, MarkedText], None]
# by what is raised where a file asks for too much
LIMITS: dict[type[BaseException], str] = {
    MemoryError: f"needs more than {MEMORY_MB} MiB of memory to be read",
    RecursionError: "is nested too deeply",
}


def main() -> None:
    """Read what comes, and answer."""
    given, answer = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # what a library prints must not get into the answer
    os.dup2(2, 1)
    request = ReadRequest.decode(given.readline())
    module, name = READERS[request.kind]
    try:
        read: Read = getattr(import_module(f"{FOLDER}.{module}"), name)
    except ModuleNotFoundError as error:
        text = (
            f"needs the extra `documents` to be read: pip install 'crewline[documents]' ({error})"
        )
        answer.write(ReadText("", reason=text).encode())
        answer.flush()
        return
    words = Words(request.language)
    # what it loads when it is first used
    words.terms("words")
    confine(MEMORY_MB, CPU_SECONDS, imported_from())
    answer.write(read_result(read, given.read(), request, words).encode())
    answer.flush()


def imported_from() -> list[Path]:
    """Return the folders of Python and its packages: a library may import more while it reads."""
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return [Path(sysconfig.get_path(name)) for name in names]


def read_result(read: Read, data: bytes, request: ReadRequest, words: Words) -> ReadText:
    """Return what a file comes to."""
    out = MarkedText(request.max_chars)
    try:
        read(data, out)
        text = out.text
        if not text.strip():
            raise UnreadableFile("has no text")
        cuts = cut_text(text, out.marks, request.cut)
        pieces = []
        for one in cuts:
            terms, length = words.terms(f"{one.place}\n{text[one.start : one.end]}")
            pieces.append(ReadPiece(one, terms, length))
    except UnreadableFile as error:
        return ReadText("", reason=str(error))
    except TooManyPieces:
        return ReadText("", reason=f"would be more than {request.cut.most} passages")
    except (MemoryError, RecursionError) as error:
        return ReadText("", reason=LIMITS[type(error)])
    except Exception as error:  # noqa: BLE001 # what libraries raise for files that are damaged
        return ReadText("", reason=f"cannot be read, it may be damaged ({type(error).__name__})")
    return ReadText(text, tuple(pieces), tuple(out.notes))


if __name__ == "__main__":
    main()
