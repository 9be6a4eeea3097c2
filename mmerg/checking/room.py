"""Whether the longest dialogue of a corpus fits a model's context.

Every prompt of one pass is rendered by the run's own code, a stand-in answering. Tokens are estimated. Added are what
earlier agents will have said, exemplars, images as the server counts them, and repairs, each a refused reply with a
complaint.
"""

from collections.abc import Iterator
from pathlib import Path

from mmerg.backends.dry import Dry
from mmerg.backends.protocol import Engine
from mmerg.checking.probes import Finding
from mmerg.corpora.dialogue import Sample
from mmerg.corpora.protocols import chosen, select
from mmerg.experiment.backbone import BackbonePlan
from mmerg.experiment.build import load_corpus
from mmerg.experiment.plan import SystemPlan, plan_prompts
from mmerg.runs.events import Called, Event
from mmerg.settings.model import RunSettings

CHARACTERS = 3.5  # a token; English prose has more
OUTPUT = 250  # tokens of an agent's output as later ones are shown it, and of a refused reply with its complaint
EXEMPLAR, FRAME, DESCRIPTION = 120, 20, 60  # tokens of an exemplar; of words on a frame, with vision and without


def room(settings: RunSettings, engine: Engine, image_tokens: int) -> Finding:
    """How many tokens of `num_ctx` the longest call takes for the dialogue with the most words. image_tokens: of an
    image as it is sent. Raises MmergError where the corpus cannot be read."""
    corpus = load_corpus(settings.dataset)
    samples = chosen(select(corpus, settings.protocol).samples, settings.ids, settings.limit)
    limit = int(engine.load.get("num_ctx", 0)) or engine.context_length
    if not samples or not limit:
        return "open", "no sample is selected" if limit else "the context length is unknown"
    longest = max(samples, key=_characters)
    takes = max(_calls(settings, engine, longest, image_tokens), default=0)
    turns = len(longest.scene.history)
    whose = f"the {turns} turns of its longest dialogue ({longest.id}) included"
    text = f"{corpus.name}: a call takes up to about {takes} of {limit} tokens, {whose}"
    if takes <= limit:
        pictured = engine.vision and settings.frames.seen_by != "none"
        if pictured and image_tokens <= 1:  # the server does not count them, or the probe's call failed
            return "open", f"{text}, without pictures"
        return "ok", text
    fewer = int(turns * (1 - (takes - limit) * CHARACTERS / _characters(longest)))
    hint = f"protocol.history={fewer} shows fewer turns" if fewer > 1 else "frames=none, or another model"
    larger = "; or a larger backbone.load.num_ctx" if limit < engine.context_length else ""
    return "failed", f"{text}: {hint}{larger}"


def _characters(sample: Sample) -> int:
    return sum(len(f"{turn.speaker}: {turn.text}\n") for turn in sample.scene.history)


def _calls(settings: RunSettings, engine: Engine, sample: Sample, image_tokens: int) -> Iterator[int]:
    """The tokens of each call of one pass, with its reply and the repairs before it."""
    frames, backbone, events = settings.frames, settings.backbone, list[Event]()
    blind = frames.model_copy(update={"last_turns": 0})  # decodes nothing
    planned = SystemPlan(plan_prompts(settings), blind, sources={}, cache_dir=Path(settings.cache_dir))
    experiment = planned.experiment(engine, BackbonePlan.of(settings).sampling(settings.seed), backbone.max_images)
    experiment.sample(sample, Dry(), events.append, lambda *_: None)  # there is no run folder
    shown = min(frames.max_frames, frames.per_clip * frames.last_turns)
    if engine.vision:
        images = 1 if backbone.max_images == 1 else min(shown, backbone.max_images)
        visual = images * image_tokens + shown * FRAME
    else:
        visual = shown * DESCRIPTION
    system = experiment.prompts.system
    agents = {agent.name: agent for agent in (*system.stages, *([system.auditor] if system.auditor else []))}
    for call in events:
        if isinstance(call, Called):
            sees = agents[call.stage].sees
            written = sum(len(message.text) for message in call.messages) / CHARACTERS
            earlier = sum(stage.gives in sees for stage in system.stages) + system.max_repairs
            exemplars = EXEMPLAR * settings.memory.top_k * ("M" in sees)
            reply = call.sampling["num_predict"]
            assert isinstance(reply, int | float)
            yield round(written + visual * ("V" in sees) + OUTPUT * earlier + exemplars + reply)
