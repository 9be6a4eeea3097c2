"""The page's chats, in memory alone: the events of each try at a reply and its frames, until they are forgotten.

Once there are too many chats, the least recently used one is forgotten.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from uuid import uuid4

from mmerg.runs.events import Event
from mmerg.runs.result import Result

MOST = 128  # chats


@dataclass
class Turn:
    """A try of the model `model` at the reply that follows `place` turns. kept: whether its frames may be saved.
    frames: JPEGs by SHA-256. result: None until it has ended."""

    model: str
    place: int
    kept: bool
    id: str = field(default_factory=lambda: uuid4().hex)
    frames: dict[str, bytes] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    result: Result | None = None

    def keep_frame(self, sha256: str, read: Callable[[], bytes]) -> None:
        self.frames[sha256] = read()


class Chats(dict[str, list[Turn]]):
    """The tries of each chat, by its name; the least recently used chat comes first."""

    def __init__(self, most: int = MOST) -> None:
        super().__init__()
        self._most = most

    def begin(self, name: str, model: str, place: int, *, kept: bool) -> Turn:
        """Another try in a chat, which is made where there is none. Later turns of the chat are dropped: the user has
        edited the turn before them."""
        turn = Turn(model, place, kept)
        self[name] = [*(before for before in self.pop(name, []) if before.place <= place), turn]
        if len(self) > self._most:
            del self[next(iter(self))]
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
