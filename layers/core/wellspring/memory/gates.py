"""Owns hosts, leases and barriers in memory: as strict as the table."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from wellspring.hosts import HostState
from wellspring.outage import is_outage
from wellspring.ports import (
    Checkpoint,
    Slot,
)


@dataclass
class MemoryGates:
    held: dict[str, tuple[str, datetime]] = field(default_factory=dict)
    hosts: dict[str, HostState] = field(default_factory=dict)
    windows: dict[datetime, tuple[int, int]] = field(default_factory=dict)
    """Planner windows: how many hosts they have, and how many are down."""
    frozen: bool = False
    checkpoints: dict[str, Checkpoint] = field(default_factory=dict)

    def acquire(self, gate: str, owner: str, *, now: datetime, until: datetime) -> bool:
        holder, ends = self.held.get(gate, (owner, now))
        if holder != owner and ends > now:
            return False
        self.held[gate] = (owner, until)
        return True

    def release(self, gate: str, owner: str) -> bool:
        if self.held.get(gate, ("", None))[0] != owner:
            return False
        del self.held[gate]
        return True

    def take_slot(self, host: str, *, now: datetime, until: datetime) -> Slot:
        state = self.hosts.get(host, HostState())
        closed = (state.next_slot and state.next_slot > now) or (
            state.brake_until and state.brake_until > now
        )
        if closed:
            return Slot(False, state)
        self.hosts[host] = replace(state, next_slot=until)
        return Slot(True, state)

    def reserve_slot(self, host: str, *, at: datetime, until: datetime) -> Slot:
        state = self.hosts.get(host, HostState())
        if state.next_slot != at or (state.brake_until and state.brake_until > at):
            return Slot(False, state)
        self.hosts[host] = replace(state, next_slot=until)
        return Slot(True, state)

    def host(self, host: str) -> HostState:
        return self.hosts.get(host, HostState())

    def host_failed(self, host: str, source_id: str, *, window: datetime | None) -> HostState:
        before = self.hosts.get(host, HostState())
        self.hosts[host] = replace(
            before, failing=before.failing or source_id, failed_window=window or before.failed_window
        )
        return before

    def brake(self, host: str, *, until: datetime, brakes: int, others: bool) -> None:
        before = self.hosts.get(host, HostState())
        self.hosts[host] = replace(before, brake_until=until, brakes=brakes, others=others)

    def host_recovered(self, host: str) -> None:
        self.hosts[host] = HostState(next_slot=self.hosts.get(host, HostState()).next_slot)

    def open_window(self, window_end: datetime, hosts: int) -> bool:
        self.windows[window_end] = (hosts, self.windows.get(window_end, (0, 0))[1])
        return self.frozen

    def report_down(self, window_end: datetime) -> bool:
        hosts, down = self.windows.get(window_end, (0, 0))
        self.windows[window_end] = (hosts, down + 1)
        if not is_outage(down=down + 1, hosts=hosts):
            return False
        self.frozen = True
        return True

    def thaw(self) -> None:
        self.frozen = False

    def is_frozen(self) -> bool:
        return self.frozen

    def checkpoint(self, gate: str) -> Checkpoint:
        return self.checkpoints.get(gate, Checkpoint())

    def put_checkpoint(self, gate: str, checkpoint: Checkpoint) -> None:
        self.checkpoints[gate] = checkpoint
