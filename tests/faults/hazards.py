"""What is wrong beside the faults: runs that harm their process, a clock, a network, a disk."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hazards:
    """0 and False: nothing."""

    # one run in so many ends each process that plays it
    poison: int = 0
    # one in so many holds up its process, for longer than others wait for a sign of life
    stalls: int = 0
    # the clock of a worker is three days ahead
    skewed: bool = False
    # connections to the database are delayed, stalled and cut
    network: bool = False
    # a database that crashes comes back without its last commits
    forgetful: bool = False
    # the disk of a server on SQLite is slow now and then
    slow_disk: bool = False

    def is_poison(self, number: int) -> bool:
        """Whether the run of this number ends its process."""
        return self.poison > 0 and number % self.poison == self.poison // 2

    def query(self, key: str, number: int) -> str:
        """What the run of this number is asked."""
        if self.is_poison(number):
            return f"{key} poison"
        is_stall = self.stalls > 0 and number % self.stalls == self.stalls // 3
        return f"{key} stall" if is_stall else key


NOTHING = Hazards()
