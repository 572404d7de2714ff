"""Real readings of this machine, through psutil."""

import platform
import shutil
import subprocess
import time
from typing import Annotated

import psutil
from pydantic import Field

from tools.errors import PermanentError
from tools.tool import Tool, tool_from

GIB = 2**30


def get_cpu_usage() -> str:
    """Current CPU usage of this machine, over all cores."""
    percent = psutil.cpu_percent(interval=0.2)
    load = ", ".join(f"{x:.2f}" for x in psutil.getloadavg())
    return f"CPU usage: {percent:.1f} % of {psutil.cpu_count()} cores; load average {load} (1, 5, 15 min)"


def get_memory_usage() -> str:
    """Current memory usage of this machine."""
    memory = psutil.virtual_memory()
    used, total, available = memory.used / GIB, memory.total / GIB, memory.available / GIB
    return f"Memory usage: {memory.percent:.1f} % ({used:.1f} of {total:.1f} GiB, {available:.1f} GiB available)"


def get_disk_space(path: str = "/") -> str:
    """Disk space of the file system that holds a path.

    Args:
        path: a folder or file on the file system in question
    """
    try:
        disk = psutil.disk_usage(path)
    except OSError as error:
        raise PermanentError(f"{path}: {error.strerror}") from error
    used, total, free = disk.used / GIB, disk.total / GIB, disk.free / GIB
    return f"Disk usage of {path}: {disk.percent:.1f} % ({used:.1f} of {total:.1f} GiB, {free:.1f} GiB free)"


def get_system_info() -> str:
    """Operating system, host name, architecture and uptime of this machine."""
    up = int(time.time() - psutil.boot_time())
    days, hours, minutes = up // 86400, up // 3600 % 24, up // 60 % 60
    return (
        f"Host: {platform.node()}\nOS: {platform.system()} {platform.release()} ({platform.machine()})\n"
        f"Python: {platform.python_version()}\nUp: {days} d {hours} h {minutes} min"
    )


def get_running_processes(count: Annotated[int, Field(ge=1, le=100)] = 10) -> str:
    """The processes that use the most memory.

    Args:
        count: how many, 1 to 100
    """
    found = [p.info for p in psutil.process_iter(["pid", "name", "memory_percent", "username"])]
    found.sort(key=lambda p: p["memory_percent"] or 0, reverse=True)
    rows = [
        f"{p['pid']:>8}  {p['memory_percent'] or 0:5.1f} % memory  {p['name']} ({p['username']})"
        for p in found[:count]
    ]
    return f"{len(found)} processes; the {len(rows)} largest:\n" + "\n".join(rows)


def check_memory_status() -> str:
    """Memory and swap of this machine in detail."""
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    verdict = "critical" if memory.percent >= 95 else "high" if memory.percent >= 85 else "normal"
    return (
        f"Memory: {verdict}\nTotal: {memory.total / GIB:.2f} GiB\nUsed: {memory.used / GIB:.2f} GiB ({memory.percent:.1f} %)\n"
        f"Available: {memory.available / GIB:.2f} GiB\nSwap: {swap.used / GIB:.2f} of {swap.total / GIB:.2f} GiB"
    )


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
        rows.append(
            f"{part.mountpoint} ({part.fstype}): {used.percent:.1f} % of {used.total / GIB:.1f} GiB"
        )
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
    rows = [
        f"Processes named like {service}: {len(running)}"
        + (f" (pid {', '.join(map(str, running[:5]))})" if running else "")
    ]
    if systemctl := shutil.which("systemctl"):
        asked = subprocess.run(
            [systemctl, "is-active", "--", service],
            capture_output=True,
            text=True,
            timeout=4,
            check=False,
        )
        rows.append(f"systemd: {asked.stdout.strip() or asked.stderr.strip()}")
    return "\n".join(rows)


def get_system_diagnostics() -> str:
    """A whole report on this machine.

    System, CPU, memory, disk, network interfaces, largest processes.
    """
    interfaces = ", ".join(
        f"{name} {'up' if stats.isup else 'down'}" for name, stats in psutil.net_if_stats().items()
    )
    return "\n".join(
        (
            get_system_info(),
            get_cpu_usage(),
            check_memory_status(),
            get_disk_space("/"),
            f"Network: {interfaces}",
            get_running_processes(5),
        )
    )


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
