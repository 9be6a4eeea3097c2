"""Best of n: the same passes by other seeds, of which the likeliest is taken."""

from collections import Counter

from mmerg.engine.loops.audit import is_final
from mmerg.engine.loops.loop import Ask, Outcome, complete, finish
from mmerg.engine.state import Draw, Pass, State
from mmerg.errors import ConfigError, Failure, ReplyError, SampleError
from mmerg.runs import events
from mmerg.runs.events import Emit
from mmerg.runs.facts import likelihood
from mmerg.systems.system import System


def draws(system: System, state: State, ask: Ask, emit: Emit) -> Outcome:
    """`system.draws` independent passes. The emotion is the one that most of them give (self-consistency, Wang et al.,
    2022, arXiv 2203.11171), the response is the likeliest of these: the maximum of (draws of the same emotion, mean
    log-probability of the response's tokens, -t).

    A draw that cannot be used is lost, and the others go on. Raises SampleError where all of them are lost or a call
    failed, ConfigError where the backend gives no log-probabilities.
    """
    sample, lost = state.scene.id, None
    drawn: list[tuple[int, State, float]] = []
    for t in range(system.draws):
        draw = Draw(t)
        try:
            finished = complete(system, state, ask, emit, t, draw=draw)
            drawn.append((t, finished, _mean(system.result["response"], draw)))
        except SampleError as error:
            if not is_final(error):
                raise
            emit(events.PassLost(sample=sample, t=t, failure=error.failure, what=error.what))
            lost = error
    if lost and not drawn:
        what = f"no draw of {system.draws} can be used; the last: {lost.what}"
        raise SampleError(lost.failure, what, where=lost.where, hint=lost.hint) from lost
    emotion = system.result.get("emotion", "")
    votes = Counter(finished.text_at(emotion) for _, finished, _ in drawn)
    passes = [Pass(t, finished, score=(votes[finished.text_at(emotion)], mean)) for t, finished, mean in drawn]
    return finish(sample, passes, "draws lost" if lost else "drawn", "lexicographic", emit)


def _mean(path: str, draw: Draw) -> float:
    """The mean log-probability of a token of the response, which stands at `path`. Raises ReplyError where this reply
    does not give it, ConfigError where no reply can."""
    symbol, _, field = path.partition(".")
    reply, written = draw.replies[symbol]
    if not reply.logprobs and "log-probabilities" not in reply.taken:
        what = "the backend gives no log-probabilities, by which loop=draws finds the likeliest reply"
        hint = "update the server, which mmerg doctor looks at, or take another system"
        raise ConfigError(what, where=reply.host, hint=hint)
    total, tokens = likelihood(reply, getattr(written, field) if field else str(written), field)
    if total is None:
        raise ReplyError(Failure.SERVER_ERROR, "its log-probabilities are not those of its text", where=reply.host)
    return round(total / tokens, 6)
