"""What bounds a run."""

from dataclasses import dataclass

from crew.config.keys.crew_file import CrewSettings


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What bounds a run."""

    max_handoffs: int
    max_rounds: int
    # active time; a pause does not use it up
    timeout_seconds: float
    # claims without an event between them
    max_recoveries: int


def run_limits(settings: CrewSettings) -> RunLimits:
    """Return the limits of a crew's runs."""
    return RunLimits(
        settings.max_handoffs,
        settings.max_rounds,
        settings.timeout_seconds,
        settings.max_recoveries,
    )
