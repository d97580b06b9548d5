"""What the numbers were measured on."""

import datetime
import os
import platform
import re
from pathlib import Path

# The flags that decide which vector code runs, by the name that people know them by.
_VECTOR_FLAGS = {"avx512f": "AVX-512", "avx2": "AVX2", "asimd": "NEON"}


def _first(pattern: str, path: str) -> str | None:
    found = re.search(pattern, Path(path).read_text(encoding="utf-8"), re.MULTILINE)
    return found.group(1).strip() if found else None


def describe() -> dict:
    """Processor, cores, vector instructions, memory, system and date."""
    flags = (_first(r"^(?:flags|Features)\s*:(.*)$", "/proc/cpuinfo") or "").split()
    memory_kb = int(_first(r"^MemTotal:\s+(\d+)", "/proc/meminfo"))
    return {
        "processor": _first(r"^model name\s*:(.*)$", "/proc/cpuinfo") or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "vectors": next((name for flag, name in _VECTOR_FLAGS.items() if flag in flags), "none"),
        "memory_gb": round(memory_kb / 2**20, 1),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "libc": " ".join(platform.libc_ver()),
        "python": platform.python_version(),
        "date": datetime.date.today().isoformat(),
    }
