"""Owns delivery: at least once, hidden while somebody works on it, given up after five times."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count

from wellspring.memory import MemoryQueue

VISIBILITY = timedelta(seconds=720)
MOST_RECEIVES = 5


@dataclass
class Held:
    """A message on the queue."""

    message_id: str
    body: str
    visible_at: datetime
    receives: int = 0


@dataclass
class DeliveringQueue(MemoryQueue):
    """What was sent, until somebody deletes it. `arrived` is told of each message that can be received."""

    clock: object = None
    arrived: object = lambda held: None
    held: dict[str, Held] = field(default_factory=dict)
    dead: list[Held] = field(default_factory=list)

    def __post_init__(self):
        self._numbers = count(1)

    def send(self, batch):
        answer = super().send(batch)
        for outgoing in batch:
            due = self.clock() + timedelta(seconds=outgoing.delay_seconds)
            held = Held(f"m{next(self._numbers)}", outgoing.message.to_text(), due)
            self.held[held.message_id] = held
            self.arrived(held)
        return answer

    def receive(self, limit=10, *, visibility=VISIBILITY):
        """Return messages that nobody holds, and hide them; one that came too often is buried instead."""
        ready = [held for held in self.held.values() if held.visible_at <= self.clock()]
        return [held for held in ready[:limit] if self.take(held.message_id, visibility=visibility)]

    def take(self, message_id, *, visibility=VISIBILITY):
        """Receive one message, if it can be; whoever takes it too often finds it among the dead letters."""
        held = self.held.get(message_id)
        if held is None or held.visible_at > self.clock():
            return None
        if held.receives == MOST_RECEIVES:
            self.dead.append(self.held.pop(message_id))
            return None
        held.receives += 1
        held.visible_at = self.clock() + visibility
        self.arrived(held)
        return held

    def delete(self, message_id):
        """Say that a message is worked off; whoever else received it, it does not come again."""
        self.held.pop(message_id, None)
