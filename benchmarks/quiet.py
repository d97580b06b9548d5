"""Whether the machine is at rest: what share of its processor time goes to anyone but us.

/proc/stat counts all work on all cores, and the time that a hypervisor gave to other guests
(steal). What this process used itself is taken off. The rest is foreign: other programs, the
kernel's own work, other guests.
"""

import os
import time
from dataclasses import dataclass

# A share of foreign work up to this counts as rest. A window of half a second on two cores is 100
# ticks of 10 ms, so it is five of them.
REST = 0.05
WINDOW_S = 0.5

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass
class Snapshot:
    """Seconds since boot, over all cores: all time, work with steal, and this process's own."""

    total: float
    busy: float
    own: float

    @classmethod
    def take(cls):
        with open("/proc/stat", encoding="ascii") as stat:
            # user nice system idle iowait irq softirq steal; guest time is within user's.
            ticks = [int(field) for field in stat.readline().split()[1:9]]
        own = os.times()
        return cls(
            total=sum(ticks) * _TICK_S,
            busy=(sum(ticks) - ticks[3] - ticks[4]) * _TICK_S,
            own=own.user + own.system,
        )

    def foreign_share_since(self, before: "Snapshot") -> float:
        """Share of the machine's processor time, since `before`, that was not this process's."""
        total = self.total - before.total
        foreign = (self.busy - before.busy) - (self.own - before.own)
        return max(0.0, foreign / total) if total > 0 else 0.0


def wait(patience_s: float) -> float:
    """Sleeps until the machine is at rest, or for `patience_s`; returns the seconds it took."""
    started = time.monotonic()
    while time.monotonic() - started < patience_s:
        before = Snapshot.take()
        time.sleep(min(WINDOW_S, patience_s))
        if Snapshot.take().foreign_share_since(before) <= REST:
            break
    return time.monotonic() - started
