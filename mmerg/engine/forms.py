"""Forms of check besides the auditor's finding. Each scores a stage's output; higher is better. A score below the
stage's threshold fails: the measured one (`auditor.json`), else 0.

code: minus the sum of the faults that functions find.
likelihood: log p(output | scene) − log p(output), in nats per token.
odds: log p(true) − log p(false) of the auditor's next token when asked whether the check holds.
comparison: log p(own) − log p(other) when asked which of two was made for the scene; the mean over decoys and orders.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from mmerg.backends.protocol import Reply, Request, Sampling, build_likelihood_request
from mmerg.engine.labels import ALTERNATIVES, read_top_logprobs, require_logprobs
from mmerg.engine.prompts import Prompts, get_bounds
from mmerg.engine.state import Output, State
from mmerg.errors import Failure, ReplyError
from mmerg.systems.audit import Verdict
from mmerg.systems.schema import build_json_schema
from mmerg.systems.system import Stage
from mmerg.systems.wire import as_written

ODDS, COMPARE = "odds", "compare"  # templates
ANEW = "answer anew: this does not fit what is shown"


@dataclass(frozen=True)
class Forms:
    """The checks of one pass. call: calls the backbone and records the call. auditor: its inputs are shown for odds and
    comparison."""

    prompts: Prompts
    auditor: Stage
    call: Callable[[Request], Reply]

    def check(self, stage: Stage, state: State) -> Verdict:
        """The verdict on the output of `stage`. Raises ReplyError without a score."""
        form, threshold, found = stage.verdict.form, stage.verdict.threshold, ""
        assert form is not None
        if form == "code":
            found = ", ".join(self.find_faults(stage, state))
        score = self.score(stage, state, form)
        reason = f"{form} {score:.2f}, passes from {threshold:.2f}{f': {found}' if found else ''}"
        passed = score >= threshold
        correction = "" if passed else f"avoid: {found}" if found else ANEW
        return Verdict(reason=reason, passed=passed, correction=correction, form=form, score=score)

    def score(self, stage: Stage, state: State, form: str) -> float:
        """The score of the output of `stage`, without regard to later outputs. Raises ReplyError without a score."""
        by = {"likelihood": self._likelihood, "odds": self._odds, "comparison": self._comparison}
        value = by[form](stage, state) if form in by else -sum(self.find_faults(stage, state).values())
        return round(value, 6)

    def find_faults(self, stage: Stage, state: State) -> Mapping[str, float]:
        """The faults that the stage's functions find, each with its size."""
        return {what: size for check in stage.code for what, size in check(state.get(stage.gives), state).items()}

    def _likelihood(self, stage: Stage, state: State) -> float:
        before = state.before(stage.gives)
        blank = State(replace(before.scene, history=()), labels=before.labels)
        text = as_written(_output(stage, state))
        bounds = get_bounds(self.prompts.system, stage, before)
        outline = build_json_schema(stage.output, bounds).outline if stage.output else ""
        sums, tokens = [], []
        for shown in (before, blank):
            messages = self.prompts.render_messages(stage, shown, {}, outline, None)
            reply = self.call(build_likelihood_request(messages, text))
            if not reply.logprobs:
                what, hint = "no log-probabilities came for the text", "run mmerg doctor, or update the server"
                raise ReplyError(Failure.SERVER_ERROR, what, where=reply.host, hint=hint)
            sums.append(sum(one.logprob for one in reply.logprobs))
            tokens.append(len(reply.logprobs))
        return (sums[0] - sums[1]) / max(tokens)

    def _odds(self, stage: Stage, state: State) -> float:
        asked = replace(self.auditor, name=ODDS, audits=(stage.name,))
        shown = state.before(stage.gives).with_output(stage.gives, _output(stage, state))
        return self._choice(asked, shown, ("true", "false"))

    def _comparison(self, stage: Stage, state: State) -> float:
        own, before = _output(stage, state), state.before(stage.gives)
        decoys = [decoy for plain in stage.verdict.decoys if (decoy := _read(stage, plain)) != own]
        sees = (*self.auditor.sees, "first", "second")
        asked = replace(self.auditor, name=COMPARE, audits=(stage.name,), sees=sees)
        odds = []
        for decoy in decoys:
            for one, other, sign in ((own, decoy, 1), (decoy, own, -1)):
                shown = before.with_output("first", as_written(one)).with_output("second", as_written(other))
                odds.append(sign * self._choice(asked, shown, ("1", "2")))
        return fmean(odds) if odds else 0.0

    def _choice(self, asked: Stage, state: State, words: Sequence[str]) -> float:
        """log p(words[0]) − log p(words[1]); the model chooses between two JSON values."""
        messages = self.prompts.render_messages(asked, state, {}, "", None)
        schema = json.dumps({"enum": [json.loads(word) for word in words]})
        reply = self.call(Request(messages, Sampling(num_predict=8), schema, logprobs=True, alternatives=ALTERNATIVES))
        require_logprobs(reply, f"the template {asked.name}.j2")
        return log_odds(reply, words)


def log_odds(reply: Reply, words: Sequence[str]) -> float:
    """log p(words[0]) − log p(words[1]) at the first token that begins one of the words, in any case. The words differ
    in their first letter. A word that no token begins gets the upper bound of `read_top_logprobs`. Raises ReplyError if
    no token begins a word."""

    def begins(token: str, word: str) -> bool:
        return bool(token.strip()) and word.startswith(token.strip().lower())

    chosen = next((one for one in reply.logprobs if any(begins(one.token, word) for word in words)), None)
    if chosen is None:
        what = f"it is neither {' nor '.join(words)}: {reply.text[:40]!r}"
        raise ReplyError(Failure.SCHEMA_INVALID, what, where=reply.host)
    tokens, least = read_top_logprobs(chosen)
    sums = [np.logaddexp.reduce([value for token, value in tokens.items() if begins(token, word)]) for word in words]
    one, other = (float(value) if np.isfinite(value) else least for value in sums)
    return one - other


def _read(stage: Stage, plain: object) -> Output:
    """Reads an output of `stage` from a file, without the bounds of a scene."""
    if stage.output is None or not isinstance(plain, dict):
        return str(plain)
    return stage.output.model_validate({name: value for name, value in plain.items() if value is not None})


def _output(stage: Stage, state: State) -> Output:
    output = state.get(stage.gives)
    assert output is not None
    return output
