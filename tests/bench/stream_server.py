"""Our server for the benchmark's streams: `python stream_server.py PORT MODEL_URL`; see streams.py."""

import os
import sys
import tempfile
from pathlib import Path

import yaml


def main() -> None:
    """Write the crew of scenario S1 and become `crew serve`."""
    port, url = sys.argv[1:3]
    folder = Path(tempfile.mkdtemp())
    (folder / "agents").mkdir()
    provider = {"base_url": f"{url}/v1", "api_key": "sk-bench"}
    crew = {"name": "s1", "agents": ["solo"], "providers": {"openai": provider}}
    # the benchmark's model answers by this mark
    prompt = "You are the solo of a customer support crew. Be brief. [[agent:solo]]"
    agent = {"id": "solo", "name": "solo", "role": "solo", "model": "gpt-4o-mini"}
    (folder / "crew.yaml").write_text(yaml.safe_dump(crew))
    (folder / "agents" / "solo.yaml").write_text(
        yaml.safe_dump({**agent, "system_prompt": prompt, "is_terminal": True})
    )
    command = Path(sys.executable).with_name("crew")
    # the load comes from one address
    environment = {
        **os.environ,
        "CREW_LOG_LEVEL": "warning",
        "CREW_MAX_CONNECTIONS_PER_ADDRESS": "100000",
        "CREW_REQUESTS_PER_MINUTE": "10000000",
        "CREW_MAX_STREAMS_PER_TOKEN": "100000",
    }
    os.execve(command, [command, "serve", folder, "--port", port], environment)


if __name__ == "__main__":
    main()
