"""The fields of a result that follow from a sample's events, so that tables and metrics need no events.

A server returns a log-probability for each generated token: also for thinking (which comes first on Ollama), line
feeds, a removed stop text, JSON around the response, and on some servers the end token. A token belongs to the response
if it has a character of it. llama.cpp returns none for a last token that ends with the stop text (".\\n").
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise

from mmerg.backends.protocol import Completion, TokenLogprob
from mmerg.runs.copying import count_copied, iterate_texts
from mmerg.runs.events import OVER_BUDGET, Produced
from mmerg.runs.result import Timing
from mmerg.runs.trace import SampleTrace
from mmerg.storage.words import split_ngrams

ROUNDING = 1e-4  # a server that computes in single precision may return log-probabilities this far above 0
NOWHERE: Mapping[str, str] = {}
TAIL = 16  # characters of the longest token
BROKEN = "\ufffd"  # the text of a token that is only a part of a character


def collect_facts(
    trace: SampleTrace, response: str | None = None, places: Mapping[str, str] = NOWHERE
) -> dict[str, object]:
    """Computes the fields of a `Result` that follow from the events. response: the final one; None if the sample
    failed. places: by name ("response", "emotion"), an output's symbol ("R") or field ("o.reply")."""
    exemplars = {(event.symbol, str(item["id"])) for event in trace.supplied for item in event.content if "id" in item}
    excluded = {(entry.guard, event.symbol, entry.id) for event in trace.supplied for entry in event.excluded}
    cleaned = Counter(kind for call in trace.calls if call.cleaned for kind in call.cleaned.removed)
    fields: dict[str, object] = {
        "repeated_passes": len(trace.repeated),
        "cleaned": dict(sorted(cleaned.items())),
        "timing": _timing([call.event.completion for call in trace.calls]),
        "exemplars": len(exemplars),
        "excluded": dict(sorted(Counter(guard for guard, *_ in excluded).items())),
        "exemplars_problem": "; ".join(sorted({event.problem for event in trace.supplied} - {""})) or None,
    }
    if trace.started:
        fields |= {"history": trace.started.history, "responder": trace.started.responder}
    if trace.frames:
        turns = trace.frames.turns
        fields |= {
            "turns_searched": len(turns),
            "frames": sum(len(turn.frames) for turn in turns),
            "frames_form": trace.frames.form,
            "clip_problems": sum(turn.problem not in ("", OVER_BUDGET) for turn in turns),
        }
    if first := trace.passes.get(0):
        fields["handed_on"] = _handed_on([*first.outputs.values()])
    if read := [step.read for pass_ in trace.passes.values() for step in pass_.steps.values() if step.read]:
        fields["label_logprobs"] = read[0].logprobs
    if any(pass_.rerun for pass_ in trace.passes.values()):
        fields["forecasts"] = _forecasts(trace, places.get("emotion", ""))
    symbol, _, field = places.get("response", "").partition(".")
    if response:
        fields["copied"] = count_copied(trace, response, symbol)
    if response and (completion := _response_call(trace, symbol, response)):
        fields["logprob"], fields["logprob_tokens"] = sum_logprobs(completion, response, field)
    return fields


def _handed_on(outputs: Sequence[Produced]) -> dict[str, tuple[int, int]]:
    """Counts the four-word sequences of each output but the first: those copied from the output before, and all."""
    copied = {}
    for previous, produced in pairwise(outputs):
        earlier = {ngram for text in iterate_texts(previous.output) for ngram in split_ngrams(text)}
        ngrams = [ngram for text in iterate_texts(produced.output) for ngram in split_ngrams(text)]
        if ngrams:
            copied[produced.stage] = (sum(ngram in earlier for ngram in ngrams), len(ngrams))
    return copied


def _forecasts(trace: SampleTrace, place: str) -> tuple[str | None, ...]:
    """Returns the emotion of each pass. A pass that ended before its forecast has that of the pass before."""
    symbol = place.partition(".")[0]
    labels: list[str | None] = []
    for pass_ in trace.passes.values():
        labels.append(labels[-1] if labels and symbol not in pass_.outputs else pass_.at(place))
    return tuple(labels)


def _response_call(trace: SampleTrace, symbol: str, response: str) -> Completion | None:
    """Returns the completion of the model that became the response: the last one of its stage up to the selected pass,
    which may have kept an earlier response."""
    last = trace.selected.t if trace.selected else -1
    stages = [
        output.stage for pass_ in trace.passes.values() for output in pass_.outputs.values() if output.symbol == symbol
    ]
    calls = [call.event for call in trace.calls if [call.event.stage] == stages[-1:] and call.event.t <= last]
    with_response = [call for call in calls if response in call.completion.text]  # the stage may run in other views
    return (with_response or calls)[-1].completion if calls else None


def sum_logprobs(completion: Completion, response: str, field: str) -> tuple[float | None, int]:
    """Returns the sum of the log-probabilities (natural logarithm) of the response's tokens, and their number. The sum
    is None if the tokens cannot be found, or if a value is no log-probability."""
    logprobs = find_response_logprobs(completion.logprobs, completion.text, response, field) or ()
    valid = bool(logprobs) and all(logprob <= ROUNDING for logprob in logprobs)  # false for NaN
    return sum(logprobs) if valid else None, len(logprobs)


def _timing(completions: Iterable[Completion]) -> Timing:
    fresh = [completion for completion in completions if not completion.cached]
    rests = [(completion.response_tokens, completion.seconds - completion.prompt_seconds) for completion in fresh]
    return Timing(
        calls=len(fresh),
        prompt_tokens=sum(max(0, completion.prompt_tokens - (completion.reused_tokens or 0)) for completion in fresh),
        prompt_seconds=sum(completion.prompt_seconds for completion in fresh),
        completion_rates=tuple(round(tokens / seconds, 3) for tokens, seconds in rests if tokens and seconds > 0),
    )


def find_response_logprobs(
    logprobs: Sequence[TokenLogprob], text: str, response: str, field: str = ""
) -> tuple[float, ...] | None:
    """Returns the log-probabilities of the tokens of `response` in `text`, or, with a `field`, in the JSON string of
    that field. Returns None if the tokens do not match the text, or if the response is not in one piece."""
    start = text.find(response)
    start, end = _in_json(text, response, field) if field else (start, start + len(response))
    spans = _spans([entry.token for entry in logprobs], text)
    if not response or start < 0 or spans is None:
        return None
    overlapping = (
        entry.logprob
        for entry, (first, last) in zip(logprobs, spans, strict=True)
        if first < last and first < end and last > start
    )
    return tuple(overlapping) or None


def _in_json(text: str, response: str, field: str) -> tuple[int, int]:
    name = re.escape(json.dumps(field)[1:-1])  # may have a prefix, see mmerg/systems/wire.py
    for match in re.finditer(rf'"(?:[a-z]+_)?{name}"\s*:\s*("((?:[^"\\]|\\.)*)")', text):
        try:
            value = json.loads(match[1])
        except ValueError:
            continue
        if value.strip() == response.strip():
            return match.span(2)
        part = json.dumps(response, ensure_ascii=False)[1:-1]
        if (start := match[2].find(part)) >= 0:
            return match.start(2) + start, match.start(2) + start + len(part)
    return -1, -1


def _spans(tokens: Sequence[str], text: str) -> list[tuple[int, int]] | None:
    """Returns the start and end of each token in `text`; None if the tokens do not match. Tokens of thinking come
    before it, and end tokens after it."""
    first = "".join(tokens).rfind(text)
    if first >= 0:
        return list(pairwise(accumulate(map(len, tokens), initial=-first)))
    # The last token is missing, or tokens split a character. Such tokens share the text between their neighbours.
    spans: list[tuple[int, int]] = []
    at = broken = 0  # broken: tokens of a split character since the last whole token
    for token in tokens:
        if not token or BROKEN in token:
            broken += 1
            continue
        start = text.find(token, at) if broken else at
        exceeds_text = token.startswith(text[start:])
        if start < 0 or not (exceeds_text or text.startswith(token, start)):
            return None
        spans += [*[(at, start)] * broken, (start, start + len(token))]
        at, broken = start + len(token), 0
    spans += [(at, len(text))] * broken
    return spans if broken or at >= len(text) - TAIL else None
