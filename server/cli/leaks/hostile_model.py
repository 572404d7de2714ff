"""A provider on loopback that repeats every secret it knows, plainly and encoded."""

import base64
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote

# what it does with a query that begins with this word
MODES = ("answer", "call", "stream", "refuse", "break")
PIECE_CHARS = 7
# where channels of `notify` are told
NOTICES = "/notices/"


class HostileModel(ThreadingHTTPServer):
    """Answers chat completions; keeps what it was sent."""

    daemon_threads = True

    def __init__(self, planted: Mapping[str, str]) -> None:
        """`planted`: what it repeats; may grow."""
        super().__init__(("127.0.0.1", 0), _Handler)
        self.planted = planted
        self.port = self.server_address[1]
        self.asked: list[bytes] = []
        # what channels were sent, with the headers
        self.told: list[bytes] = []

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that are gone."""

    @property
    def words(self) -> str:
        """All that it knows."""
        values = self.planted.values()
        forms = [base64.b64encode(f"{'x' * n}{one}".encode()) for one in values for n in range(3)]
        said = [*values, *(quote(one, safe="") for one in values)]
        return " ".join([*said, *(form.decode() for form in forms)])


class _Handler(BaseHTTPRequestHandler):
    server: HostileModel
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:  # http.server's name
        """Answer one request."""
        content = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path.startswith(NOTICES):
            # whose address is a secret of the channel's own; what it is told is not
            self.server.told.append(content)
            self._send(200, {})
            return
        self.server.asked.append(content)
        request = json.loads(content)
        texts = [str(one.get("content")) for one in request["messages"] if one["role"] == "user"]
        mode = next((mode for mode in MODES if texts and texts[0].startswith(mode)), "answer")
        words = f"{self.server.words} {self.headers}"
        match mode:
            case "refuse":
                self._send(401, {"error": {"message": f"bad key {words}"}})
            case "break":
                self._send(200, {"error": {"message": words}})
            case _ if request.get("stream"):
                self._send_stream(words)
            case "call" if request["messages"][-1]["role"] == "user":
                arguments = json.dumps({"path": words, words: [words]})
                function = {"name": words, "arguments": arguments}
                call = {"id": words, "type": "function", "function": function}
                self._send_answer(words, {"content": words, "tool_calls": [call]})
            case _:
                self._send_answer(words, {"content": words})

    def _send(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _send_answer(self, model: str, message: dict[str, Any]) -> None:
        choice = {"index": 0, "message": {"role": "assistant", **message}}
        self._send(200, {"model": model, "choices": [choice]})

    def _send_stream(self, words: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        pieces = [words[at : at + PIECE_CHARS] for at in range(0, len(words), PIECE_CHARS)]
        for piece in pieces:
            chunk = {"choices": [{"index": 0, "delta": {"content": piece}}]}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        self.wfile.write(f"data: {json.dumps(end)}\n\ndata: [DONE]\n\n".encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def hostile_model(planted: Mapping[str, str]) -> Iterator[HostileModel]:
    """Yield a model that serves for as long as the block lasts."""
    server = HostileModel(planted)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
