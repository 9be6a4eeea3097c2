"""Best of n: passes with different seeds, of which the likeliest is selected."""

from collections import Counter

from mmerg.engine.labels import require_logprobs
from mmerg.engine.loops.audit import is_final
from mmerg.engine.loops.loop import Ask, Outcome, complete, finish
from mmerg.engine.state import Candidate, Pass, State
from mmerg.errors import CompletionError, Failure, SampleError
from mmerg.runs import events
from mmerg.runs.events import Emit
from mmerg.runs.facts import sum_logprobs
from mmerg.systems.system import System


def candidates(system: System, state: State, ask: Ask, emit: Emit) -> Outcome:
    """Makes `system.n` independent passes, and selects the likeliest response with the most frequent emotion.

    The vote on the emotion is self-consistency (Wang et al., 2022, arXiv 2203.11171). The rank of a candidate is
    (candidates with the same emotion, mean log-probability of the response's tokens, -t); the highest wins.

    An invalid candidate is lost. Raises SampleError if all are lost or a call fails, and ConfigError if the backend
    gives no log-probabilities.
    """
    sample = state.scene.id
    finished: list[tuple[int, State, float]] = []
    lost: SampleError | None = None
    for t in range(system.n):
        candidate = Candidate(t)
        try:
            final = complete(system, state, ask, emit, t, candidate=candidate)
            finished.append((t, final, _mean_logprob(system.result["response"], candidate)))
        except SampleError as error:
            if not is_final(error):
                raise
            emit(events.PassLost(sample=sample, t=t, failure=error.failure, what=error.what))
            lost = error
    if lost and not finished:
        what = f"none of {system.n} candidates can be used; the last: {lost.what}"
        raise SampleError(lost.failure, what, where=lost.where, hint=lost.hint) from lost
    emotion = system.result.get("emotion", "")
    votes = Counter(final.get_text(emotion) for _, final, _ in finished)
    passes = [Pass(t, final, score=(votes[final.get_text(emotion)], logprob)) for t, final, logprob in finished]
    return finish(sample, passes, "candidates lost" if lost else "all candidates", "lexicographic", emit)


def _mean_logprob(path: str, candidate: Candidate) -> float:
    """Returns the mean natural log-probability of the tokens of the response at `path`. Raises CompletionError if the
    log-probabilities do not match the text, and ConfigError if the backend gives none."""
    symbol, _, field = path.partition(".")
    completion, written = candidate.completions[symbol]
    if "log-probabilities" not in completion.removed:
        require_logprobs(completion, "loop=candidates")
    total, tokens = sum_logprobs(completion, getattr(written, field) if field else str(written), field)
    if total is None:
        what = "its log-probabilities are not those of its text"
        raise CompletionError(Failure.SERVER_ERROR, what, where=completion.host)
    return round(total / tokens, 6)
