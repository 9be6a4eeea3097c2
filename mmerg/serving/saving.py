"""A chat as run folders, one for each system that answered in it: `mmerg show` and `mmerg report` open them.

The frames of a turn are written only where its user allowed it.
"""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex

from mmerg.experiment.session import new_session
from mmerg.runs.events import Emit
from mmerg.runs.folder import Run
from mmerg.runs.identity import ENGINE, engine_text
from mmerg.runs.manifest import Corpus, Manifest, ProtocolSection
from mmerg.runs.result import Result
from mmerg.serving.chats import Turn
from mmerg.serving.offered import ServedSystem
from mmerg.serving.refused import HttpError
from mmerg.serving.served import AppState
from mmerg.settings.model import RunSettings


def save(served: AppState, ended: Iterable[Turn]) -> list[Path]:
    """Writes turns that have ended; returns the folders. Raises HttpError where there are no turns, RunError where a
    folder cannot be written."""
    replies: dict[str, dict[str, Turn]] = {}
    for turn in ended:
        assert turn.result
        replies.setdefault(turn.model, {})[turn.result.id] = turn  # one of all tries at the same reply
    if not replies:
        raise HttpError("no reply of this chat is in memory", where="chat", hint="say something first", status=404)
    mark = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{token_hex(4)}"
    folders = []
    for model, turns in replies.items():
        offered = served.offered[model]
        folder = Path(offered.settings.runs) / f"chat-{offered.system.name}-{mark}"
        with Run(folder, _manifest(served, offered, turns)) as run:
            for turn in turns.values():
                _write(run, turn)
        folders.append(folder)
    return folders


def _write(run: Run, turn: Turn) -> None:
    result = turn.result
    assert result

    def replay(emit: Emit) -> Result:
        for event in turn.events:
            emit(event)
        return result

    run.record(result.id, replay)
    for sha256, data in turn.frames.items() if turn.kept else ():
        run.keep_frame(sha256, lambda data=data: data)  # type: ignore[misc]


def _manifest(served: AppState, offered: ServedSystem, replies: Collection[str]) -> Manifest:
    settings, corpus = offered.settings, offered.corpus
    plain = {name: value for name, value in settings.plain().items() if name in RunSettings.model_fields}
    return Manifest(
        identity={**offered.plan.digests(plain, corpus), ENGINE: engine_text(served.engine)},
        engine=served.engine,
        corpus=Corpus(name=corpus.name, split=corpus.split, labels=corpus.labels),
        protocol=ProtocolSection(
            description="the replies of a chat",
            samples=len(replies),
            dialogues=len({reply.rpartition("/")[0] for reply in replies}),  # a chat for each of two columns
        ),
        settings=plain,
        sessions=(new_session(settings.plain()),),
    )
