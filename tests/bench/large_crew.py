"""A crew of 10,000 agents and 50,000 signals: how long all checks between its files take, and how much memory.

Larger than the limits on files let in (1 MiB, 100,000 values a file), so it is made in memory; and the largest that is let in,
from its files. Run: python tests/bench/large_crew.py
"""

import resource
import sys
import tempfile
import time
from pathlib import Path

from agents.config import AgentConfig
from crew.config.checks.validate import validate_files
from crew.config.crew_files import CrewFiles
from crew.config.files.document import Document
from crew.config.files.sources import Sources
from crew.config.keys.crew_file import CrewConfig
from crew.config.routing_plan import entry_point, routing_of
from crew.crew import check
from crew.routing.graph import RoutingGraph
from tools.builtin import BUILTIN_TOOLS
from tools.toolbox import Toolbox

AGENTS, SIGNALS = 10_000, 50_000


def made(agents: int, signals: int) -> CrewFiles:
    """A crew whose agents hand over at random-looking, with groups, loops and ends among them."""
    names = [f"agent{n}" for n in range(agents)]
    each = signals // agents
    routes = {
        name: [
            {
                "signal": f"[S{n}-{s}]",
                "target": names[(n * 31 + s * 977 + 1) % agents] if s else None,
            }
            for s in range(each)
        ]
        for n, name in enumerate(names)
    }
    groups = {
        f"group{n}": {"agents": names[n * 100 : n * 100 + 5], "next_agent": names[n]}
        for n in range(agents // 100)
    }
    crew = CrewConfig.model_validate(
        {"agents": names, "routing": {"signals": routes, "parallel_groups": groups}}
    )
    files = CrewFiles(Sources(Path(), {}), crew=crew)
    for name in names:
        files.agents[name] = AgentConfig(
            id=name,
            name=name,
            role="r",
            system_prompt="You help; end with [S1-1].",
            provider="ollama",
        )
        files.agent_files[name] = Document(f"agents/{name}.yaml", "", {"id": name})
    return files


def memory_mb() -> float:
    """The most that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print both."""
    files = made(AGENTS, SIGNALS)
    before, began = memory_mb(), time.perf_counter()
    problems = validate_files(files, Toolbox(dict(BUILTIN_TOOLS)))
    seconds = time.perf_counter() - began
    print(
        f"{AGENTS:,} agents, {SIGNALS:,} signals: all checks {seconds:.2f} s, {len(problems):,} problems"
    )
    began = time.perf_counter()
    graph = RoutingGraph.of(routing_of(files, dict(BUILTIN_TOOLS)), entry_point(files))
    graph.unreachable(), graph.traps(), graph.loops()
    print(
        f"the graph alone: {time.perf_counter() - began:.2f} s; most memory {memory_mb():.0f} MB, {before:.0f} MB before the checks"
    )
    for small in (AGENTS // 4, AGENTS // 2):
        few = made(small, SIGNALS * small // AGENTS)
        began = time.perf_counter()
        validate_files(few, Toolbox(dict(BUILTIN_TOOLS)))
        print(
            f"{small:,} agents, {SIGNALS * small // AGENTS:,} signals: {time.perf_counter() - began:.2f} s"
        )
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), 4000, 16_000)
        began = time.perf_counter()
        found = check(folder)
        print(
            f"4,000 agents, 16,000 signals from 4,001 files: {time.perf_counter() - began:.2f} s, {len(found.problems):,} problems"
        )
    sys.stdout.flush()


def _write(folder: Path, agents: int, signals: int) -> None:
    names = [f"a{n}" for n in range(agents)]
    each = signals // agents
    (folder / "agents").mkdir()
    routes = "".join(
        f"    {name}: [{', '.join(f'{{signal: S{s}, target: {names[(n * 31 + s * 97 + 1) % agents]}}}' for s in range(each))}]\n"
        for n, name in enumerate(names)
    )
    (folder / "crew.yaml").write_text(
        f"agents: [{', '.join(names)}]\nrouting:\n  signals:\n{routes}"
    )
    for name in names:
        (folder / "agents" / f"{name}.yaml").write_text(
            f"id: {name}\nname: {name}\nrole: r\nprovider: ollama\nsystem_prompt: You help.\n"
        )


if __name__ == "__main__":
    main()
