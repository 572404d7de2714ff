"""Stored runs -> cassettes and rehearsals, without secrets and personal data."""

import importlib.metadata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_json

from crew.config.keys.crew_file import CrewConfig
from crew.rehearsal.cassettes.lines import LINE, Cassette, CassetteHeader, with_contents
from crew.rehearsal.cassettes.redaction import Redactor
from crew.rehearsal.cassettes.said import said_in
from crew.rehearsal.files.nodes import VARIABLE
from crew.rehearsal.keeping.expecting import expected_of
from crew.rehearsal.keeping.taping import Taping
from crew.rehearsal.replaying.recording import Recording
from tools.clock import rfc3339
from tools.definition import Tool
from tools.text.secrets import Secrets

# what a cassette has, and what it has not
CAPTURED = {
    "deltas": False,
    "prompts": False,
    "memory": False,
    "python_files": False,
    "mcp_lists": False,
}
MAX_NAME = 60


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A run, as it may be given away."""

    cassette: Cassette
    expect: Mapping[str, Any]

    def rehearsal(self) -> dict[str, Any]:
        """Return it as a rehearsal, which plays the same again; JSON."""
        said = said_in(self.cassette, exact=False)
        query = said["query"]
        text = " ".join((query if isinstance(query, str) else query["text"]).split())
        written = to_json(said).decode()
        names = sorted(set(VARIABLE.findall(written)))
        # what looks like a variable of a rehearsal stands for itself
        itself = {"cases": [{"name": "recorded", **{one: f"<<{one}>>" for one in names}}]}
        name = text if len(text) <= MAX_NAME else text[: MAX_NAME - 1] + "…"
        name = name.replace("<<", "< <")
        return {"name": name, **said, "expect": self.expect, **(itself if names else {})}


@dataclass(slots=True)
class Keeper:
    """Keeps runs of one crew: the same text has the same placeholder in all of them."""

    redactor: Redactor
    # of the crew; of them, those that are agents
    tools: Collection[str]
    own: Collection[str]

    @classmethod
    def of(
        cls,
        config: CrewConfig,
        secrets: Secrets,
        tools: Iterable[Tool],
        *,
        keeps_personal: bool = False,
    ) -> "Keeper":
        """Return the keeper for a crew.

        Args:
            config: its crew.yaml.
            secrets: what is masked.
            tools: of the crew.
            keeps_personal: e-mail addresses and telephone numbers stay.
        """
        redactor = Redactor(secrets.mask, config.replay.redact, keeps_personal=keeps_personal)
        names = {tool.name: tool.agent_id for tool in tools}
        return cls(redactor, names.keys(), [name for name, agent in names.items() if agent])

    def keep(self, recording: Recording) -> KeptRun:
        """Keep one."""
        lines = [one.model_dump(mode="json") for one in Taping(recording, self.own).lines()]
        expect = expected_of(recording, self.tools)
        found: list[Any] = []
        # what was said is all that is looked at, and changed
        for line in lines:
            with_contents(line, found.append)
        self.redactor.learn(found)
        row = recording.row
        header = CassetteHeader(
            v=1,
            crew=row.crew,
            run=row.run_id,
            revision=row.revision,
            version=importlib.metadata.version("crewline"),
            at=rfc3339(recording.start),
            captured=CAPTURED,
        )
        redact = self.redactor.redact
        safe = [LINE.validate_python(with_contents(one, redact)) for one in lines]
        calls = [
            {**one, "arguments": redact(one["arguments"])} if "arguments" in one else one
            for one in expect["calls"]
        ]
        return KeptRun(Cassette(header, safe), {**expect, "calls": calls})


def rehearsals_of(kept: Sequence[KeptRun]) -> dict[str, Any]:
    """Return runs as a file of rehearsals, each with a name of its own; JSON."""
    found: list[dict[str, Any]] = []
    names: set[str] = set()
    for one in kept:
        rehearsal = one.rehearsal()
        name, number = rehearsal["name"], 2
        while rehearsal["name"] in names:
            rehearsal["name"] = f"{name} ({number})"
            number += 1
        names.add(rehearsal["name"])
        found.append(rehearsal)
    return {"rehearsals": found}
