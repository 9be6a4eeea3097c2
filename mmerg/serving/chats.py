"""The page's chats, in memory alone: the events of each try at a reply, and its frames, until they are forgotten.

The least recently used go first once there are too many, or all together are over their room.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from uuid import uuid4

from mmerg.runs.events import EVENT, Event
from mmerg.runs.result import Result

MOST = 128  # chats
ROOM = 64 * 2**20  # bytes of all of them


@dataclass
class Turn:
    """A try of the model `model` at the reply that follows `place` turns. kept: whether its frames may be saved.
    frames: JPEGs by SHA-256. result: None until it has ended."""

    model: str
    place: int
    kept: bool
    id: str = field(default_factory=lambda: uuid4().hex)
    frames: dict[str, bytes] = field(default_factory=dict)
    result: Result | None = None
    _events: list[bytes] = field(default_factory=list)
    _packed: bytes = b""

    def keep_frame(self, sha256: str, read: Callable[[], bytes]) -> None:
        self.frames[sha256] = read()

    def note(self, event: Event) -> None:
        self._events.append(event.model_dump_json().encode())

    def end(self, result: Result) -> None:
        self.result = result
        self._packed = zlib.compress(b"\n".join(self._events))  # prompts are long, and much alike
        self._events.clear()

    def events(self) -> Iterator[Event]:
        """Of a turn that has ended."""
        yield from map(EVENT.validate_json, zlib.decompress(self._packed).split(b"\n"))

    @property
    def size(self) -> int:
        return len(self._packed) + sum(map(len, list(self.frames.values())))  # a turn at work adds to them


class Chats(dict[str, list[Turn]]):
    """The tries of each chat, by its name; the least recently used chat comes first."""

    def __init__(self, most: int = MOST, room: int = ROOM) -> None:
        super().__init__()
        self._most, self._room = most, room

    def begin(self, name: str, model: str, place: int, *, kept: bool) -> Turn:
        """Another try in a chat, which is made where there is none. Later turns of the chat are dropped: the user has
        edited the turn before them."""
        turn = Turn(model, place, kept)
        self[name] = [*(before for before in self.pop(name, []) if before.place <= place), turn]
        sizes = {chat: sum(turn.size for turn in turns) for chat, turns in self.items()}
        while len(self) > 1 and (len(self) > self._most or sum(sizes.values()) > self._room):
            oldest = next(iter(self))
            del self[oldest], sizes[oldest]
        return turn

    def ended(self, ids: Iterable[str]) -> list[Turn]:
        """Those of the tries with these ids that are in memory and have ended, in this order."""
        turns = {turn.id: turn for turn in self._turns()}
        return [turns[one] for one in ids if one in turns and turns[one].result]

    def frame(self, sha256: str) -> bytes | None:
        """A frame of any chat."""
        return next((turn.frames[sha256] for turn in self._turns() if sha256 in turn.frames), None)

    def _turns(self) -> Iterator[Turn]:
        return chain.from_iterable(self.values())
