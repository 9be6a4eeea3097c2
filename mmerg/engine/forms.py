"""Forms of check besides the auditor's finding. Each scores a stage's output; higher is better. An output fails if its
score is below the stage's threshold: the measured one (`auditor.json`), or else 0.

code: minus the sum of the faults that functions find.
likelihood: log p(output | scene) − log p(output), in nats per token.
odds: log p(true) − log p(false) of the auditor's next token, when it is asked if the check holds.
comparison: log p(output) − log p(decoy), when the auditor is asked which of the two was made for the scene; the mean
    over decoys and both orders.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from mmerg.backends.protocol import Completion, Request, Sampling, build_likelihood_request
from mmerg.engine.labels import ALTERNATIVES, read_choice
from mmerg.engine.prompts import Prompts, get_bounds
from mmerg.engine.state import Output, State
from mmerg.errors import CompletionError, Failure
from mmerg.systems.audit import Verdict
from mmerg.systems.schema import build_json_schema
from mmerg.systems.system import Stage
from mmerg.systems.wire import as_written

ODDS, COMPARE = "odds", "compare"  # names of templates
ANEW = "answer anew: this does not fit what is shown"


@dataclass(frozen=True)
class Forms:
    """The checks of one pass."""

    prompts: Prompts
    auditor: Stage  # prompts for odds and comparison show its inputs
    call: Callable[[Request], Completion]  # calls the backbone, and records the call

    def check(self, stage: Stage, state: State) -> Verdict:
        """Returns the verdict on the output of `stage`. Raises CompletionError if there is no score."""
        form, threshold = stage.verdict.form, stage.verdict.threshold
        assert form is not None
        faults = ", ".join(self.find_faults(stage, state)) if form == "code" else ""
        score = self.score(stage, state, form)
        reason = f"{form} {score:.2f}, passes from {threshold:.2f}{f': {faults}' if faults else ''}"
        passed, advice = score >= threshold, f"avoid: {faults}" if faults else ANEW
        return Verdict(reason=reason, passed=passed, correction="" if passed else advice, form=form, score=score)

    def score(self, stage: Stage, state: State, form: str) -> float:
        """Returns the score of the output of `stage`, without later outputs. Raises CompletionError if it has none."""
        by_model = {"likelihood": self._likelihood, "odds": self._odds, "comparison": self._comparison}
        if form in by_model:
            return round(by_model[form](stage, state), 6)
        return round(-sum(self.find_faults(stage, state).values()), 6)

    def find_faults(self, stage: Stage, state: State) -> Mapping[str, float]:
        """Returns the faults that the stage's functions find, each with its size from 0 to 1."""
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
            completion = self.call(build_likelihood_request(messages, text))
            if not completion.logprobs:
                what, hint = "the server gave no log-probabilities for the text", "run mmerg doctor, or update it"
                raise CompletionError(Failure.SERVER_ERROR, what, where=completion.host, hint=hint)
            sums.append(sum(token.logprob for token in completion.logprobs))
            tokens.append(len(completion.logprobs))
        return (sums[0] - sums[1]) / max(tokens)

    def _odds(self, stage: Stage, state: State) -> float:
        question = replace(self.auditor, name=ODDS, audits=(stage.name,))
        shown = state.before(stage.gives).with_output(stage.gives, _output(stage, state))
        return self._choose(question, shown, ("true", "false"))

    def _comparison(self, stage: Stage, state: State) -> float:
        output, before = _output(stage, state), state.before(stage.gives)
        decoys = [_read_decoy(stage, decoy) for decoy in stage.verdict.decoys]
        sees = (*self.auditor.sees, "first", "second")
        question = replace(self.auditor, name=COMPARE, audits=(stage.name,), sees=sees)
        odds = []
        for decoy in decoys:
            if decoy == output:
                continue
            for first, second, sign in ((output, decoy, 1), (decoy, output, -1)):
                shown = before.with_output("first", as_written(first)).with_output("second", as_written(second))
                odds.append(sign * self._choose(question, shown, ("1", "2")))
        return fmean(odds) if odds else 0.0

    def _choose(self, question: Stage, state: State, words: Sequence[str]) -> float:
        """Lets the model choose between two JSON values, and returns log p(words[0]) − log p(words[1])."""
        messages = self.prompts.render_messages(question, state, {}, "", None)
        schema = json.dumps({"enum": [json.loads(word) for word in words]})
        request = Request(messages, Sampling(num_predict=8), schema, logprobs=True, alternatives=ALTERNATIVES)
        logprobs = read_choice(self.call(request), words, f"the template {question.name}.j2")
        return logprobs[words[0]] - logprobs[words[1]]


def _read_decoy(stage: Stage, decoy: object) -> Output:
    """Returns an output of `stage` as read from a file, without the bounds of a scene."""
    if stage.output is None or not isinstance(decoy, dict):
        return str(decoy)
    return stage.output.model_validate({name: value for name, value in decoy.items() if value is not None})


def _output(stage: Stage, state: State) -> Output:
    output = state.get(stage.gives)
    assert output is not None
    return output
