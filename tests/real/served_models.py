"""A real small model behind llama.cpp's server, and LiteLLM's proxy before it and before a fake."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import yaml

from tests.real.installed import HOME
from tests.support.processes import free_port, until

PROGRAMS = HOME / "models" / "bin"
HERE = Path(__file__).parent
MASTER_KEY = "sk-master-0123456789"


@dataclass(frozen=True, slots=True)
class Gateway:
    """LiteLLM's proxy, and the port at which a test may serve what it asks."""

    url: str
    scripted_port: int


@contextmanager
def llama(log: Path, template: str = "") -> Iterator[str]:
    """The model; the base URL. `template`: the name of a file here."""
    port = free_port()
    arguments = [str(port), *([str(HERE / template)] if template else [])]
    command = [str(PROGRAMS / "python"), str(HERE / "llama.py"), *arguments]
    with _running(command, log, f"http://127.0.0.1:{port}/v1/models"):
        yield f"http://127.0.0.1:{port}/v1"


@contextmanager
def minilm(log: Path) -> Iterator[str]:
    """A model of vectors; the base URL."""
    port = free_port()
    command = [str(PROGRAMS / "python"), str(HERE / "minilm.py"), str(port)]
    with _running(command, log, f"http://127.0.0.1:{port}/v1/models"):
        yield f"http://127.0.0.1:{port}/v1"


# the gateway takes 16 s of CPU to start; beside other tests on two cores that is minutes
START_SECONDS = 240.0


@contextmanager
def gateway(folder: Path, model_url: str) -> Iterator[Gateway]:
    """The proxy, with `smol` behind it, and two names of a model that a test serves."""
    port, scripted_port = free_port(), free_port()
    fake = {
        "api_base": f"http://127.0.0.1:{scripted_port}/v1",
        "api_key": "inner",
        "max_retries": 0,
    }
    behind = {
        "smol": {"model": "openai/smol", "api_base": model_url, "api_key": "none"},
        "scripted": {"model": "openai/scripted", **fake},
        "gpt-5-mini": {"model": "openai/gpt-5-mini", **fake},
    }
    listed = [{"model_name": name, "litellm_params": one} for name, one in behind.items()]
    document = {
        "model_list": listed,
        "general_settings": {"master_key": MASTER_KEY},
        "router_settings": {"num_retries": 0, "disable_cooldowns": True},
        "litellm_settings": {"num_retries": 0, "telemetry": False},
    }
    config = folder / "litellm.yaml"
    config.write_text(yaml.safe_dump(document))
    command = [str(PROGRAMS / "litellm"), "--config", str(config), "--host", "127.0.0.1"]
    alive = f"http://127.0.0.1:{port}/health/liveliness"
    with _running([*command, "--port", str(port)], folder / "litellm.log", alive):
        yield Gateway(f"http://127.0.0.1:{port}/v1", scripted_port)


@contextmanager
def _running(command: list[str], log: Path, alive: str) -> Iterator[None]:
    """A program, from when it answers on."""
    # it asks the network for prices unless it is told not to
    environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment)

    def answers() -> bool:
        assert process.poll() is None, log.read_text()[-2000:]
        try:
            return httpx2.get(alive, timeout=2).is_success
        except httpx2.HTTPError:
            return False

    try:
        until(answers, START_SECONDS)
        yield
    finally:
        process.terminate()
        process.wait(30)
