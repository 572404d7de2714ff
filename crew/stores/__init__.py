"""Where runs and their events are kept: the `contract`, its stores `memory` and `sqlite`, and `opening`, which picks one."""
