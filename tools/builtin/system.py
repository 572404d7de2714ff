"""Real readings of this machine, through psutil."""

import platform
import shutil
import subprocess
import time
from typing import Annotated

import psutil
from pydantic import Field

from tools.definition import Tool, tool_from
from tools.errors import PermanentError

GIB = 2**30
# how full the memory is, from so many percent on
LEVELS = {"normal": 0, "high": 85, "critical": 95}
SYSTEMCTL_SECONDS = 4.0


def _gib(size: float) -> str:
    return f"{size / GIB:.2f}"


def get_cpu_usage() -> str:
    """Current CPU usage of this machine, over all cores."""
    percent = psutil.cpu_percent(interval=0.2)
    load = ", ".join(f"{average:.2f}" for average in psutil.getloadavg())
    usage = f"CPU usage: {percent:.1f} % of {psutil.cpu_count()} cores"
    return f"{usage}; load average {load} (1, 5, 15 min)"


def get_memory_usage() -> str:
    """Current memory usage of this machine."""
    memory = psutil.virtual_memory()
    amounts = (
        f"{_gib(memory.used)} of {_gib(memory.total)} GiB, {_gib(memory.available)} GiB available"
    )
    return f"Memory usage: {memory.percent:.1f} % ({amounts})"


def get_disk_space(path: str = "/") -> str:
    """Disk space of the file system that holds a path.

    Args:
        path: a folder or file on the file system in question
    """
    try:
        disk = psutil.disk_usage(path)
    except OSError as error:
        raise PermanentError(f"{path}: {error.strerror}") from error
    amounts = f"{_gib(disk.used)} of {_gib(disk.total)} GiB, {_gib(disk.free)} GiB free"
    return f"Disk usage of {path}: {disk.percent:.1f} % ({amounts})"


def get_system_info() -> str:
    """Operating system, host name, architecture and uptime of this machine."""
    up = int(time.time() - psutil.boot_time())
    days, hours, minutes = up // 86400, up // 3600 % 24, up // 60 % 60
    rows = [
        f"Host: {platform.node()}",
        f"OS: {platform.system()} {platform.release()} ({platform.machine()})",
        f"Python: {platform.python_version()}",
        f"Up: {days} d {hours} h {minutes} min",
    ]
    return "\n".join(rows)


def get_running_processes(count: Annotated[int, Field(ge=1, le=100)] = 10) -> str:
    """The processes that use the most memory.

    Args:
        count: how many, 1 to 100
    """
    found = [p.info for p in psutil.process_iter(["pid", "name", "memory_percent", "username"])]
    found.sort(key=lambda p: p["memory_percent"] or 0, reverse=True)
    rows = [f"{len(found)} processes; the {min(count, len(found))} largest:"]
    for info in found[:count]:
        memory = f"{info['memory_percent'] or 0:5.1f} % memory"
        rows.append(f"{info['pid']:>8}  {memory}  {info['name']} ({info['username']})")
    return "\n".join(rows)


def check_memory_status() -> str:
    """Memory and swap of this machine in detail."""
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    levels = [level for level, percent in LEVELS.items() if memory.percent >= percent]
    rows = [
        f"Memory: {levels[-1]}",
        f"Total: {_gib(memory.total)} GiB",
        f"Used: {_gib(memory.used)} GiB ({memory.percent:.1f} %)",
        f"Available: {_gib(memory.available)} GiB",
        f"Swap: {_gib(swap.used)} of {_gib(swap.total)} GiB",
    ]
    return "\n".join(rows)


def check_disk_status(path: str = "/") -> str:
    """State of the file system that holds a path, and of the others that are mounted.

    Args:
        path: a folder or file on the file system in question
    """
    rows = [get_disk_space(path)]
    for part in psutil.disk_partitions(all=False):
        try:
            used = psutil.disk_usage(part.mountpoint)
        except OSError:
            # a mount point that this user may not look at, or whose device is gone
            continue
        size = f"{used.percent:.1f} % of {_gib(used.total)} GiB"
        rows.append(f"{part.mountpoint} ({part.fstype}): {size}")
    return "\n".join(rows)


def check_service_status(
    service: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9@._-]{0,127}$")],
) -> str:
    """Whether a service runs on this machine.

    Args:
        service: its name, such as nginx or postgresql
    """
    running = [
        p.info["pid"]
        for p in psutil.process_iter(["pid", "name"])
        if service.lower() in (p.info["name"] or "").lower()
    ]
    pids = f" (pid {', '.join(map(str, running[:5]))})" if running else ""
    rows = [f"Processes named like {service}: {len(running)}{pids}"]
    if systemctl := shutil.which("systemctl"):
        done = subprocess.run(
            [systemctl, "is-active", "--", service],
            capture_output=True,
            text=True,
            timeout=SYSTEMCTL_SECONDS,
            check=False,
        )
        rows.append(f"systemd: {done.stdout.strip() or done.stderr.strip()}")
    return "\n".join(rows)


def get_system_diagnostics() -> str:
    """A whole report on this machine.

    System, CPU, memory, disk, network interfaces, largest processes.
    """
    states = psutil.net_if_stats().items()
    interfaces = [f"{name} {'up' if state.isup else 'down'}" for name, state in states]
    rows = [
        get_system_info(),
        get_cpu_usage(),
        check_memory_status(),
        get_disk_space("/"),
        f"Network: {', '.join(interfaces)}",
        get_running_processes(5),
    ]
    return "\n".join(rows)


SYSTEM_TOOLS: tuple[Tool, ...] = (
    tool_from(get_cpu_usage, name="GetCPUUsage", effect="read"),
    tool_from(get_memory_usage, name="GetMemoryUsage", effect="read"),
    tool_from(get_disk_space, name="GetDiskSpace", effect="read"),
    tool_from(get_system_info, name="GetSystemInfo", effect="read"),
    tool_from(get_running_processes, name="GetRunningProcesses", effect="read"),
    tool_from(check_service_status, name="CheckServiceStatus", effect="read"),
    tool_from(check_memory_status, name="CheckMemoryStatus", effect="read"),
    tool_from(check_disk_status, name="CheckDiskStatus", effect="read"),
    tool_from(get_system_diagnostics, name="GetSystemDiagnostics", effect="read"),
)
