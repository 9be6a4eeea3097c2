"""The check whether the longest dialogue of a corpus fits the context of a model.

The prompts are those of a run, rendered for the dry backend. Tokens are estimated. What the dry backend does not write
counts extra: outputs of earlier agents, refused completions, exemplars, and images as the server counts them.
"""

from pathlib import Path

from mmerg.backends.dry import Dry
from mmerg.backends.protocol import Engine
from mmerg.checking.probes import Finding
from mmerg.corpora.dialogue import Sample
from mmerg.experiment.backbone import BackbonePlan
from mmerg.experiment.plan import SamplePlan, SystemPlan, plan_prompts
from mmerg.runs.events import Called, Event
from mmerg.settings.model import RunSettings

CHARACTERS = 3.5  # per token; English prose has more
OUTPUT = 250  # tokens of an earlier agent's output, or of a refused completion with its complaint
EXEMPLAR, FRAME, DESCRIPTION = 120, 20, 60  # tokens of an exemplar; of the words on a frame, with vision and without


def check_room(settings: RunSettings, engine: Engine, image_tokens: int) -> Finding:
    """Compares the longest call for the longest dialogue with the context. image_tokens: tokens of an image as a run
    sends it. Raises MmergError if the corpus cannot be read."""
    samples = SamplePlan.load(settings.dataset, settings.protocol).choose(settings.ids, settings.limit, None).wanted
    limit = int(engine.load.get("num_ctx", 0)) or engine.context_length
    if not limit:
        return "open", "the context length is unknown"
    longest = max(samples, key=lambda sample: sum(len(turn.text) for turn in sample.scene.history))
    tokens = _count_tokens(settings, engine, longest, image_tokens)
    text = f"a call with the longest dialogue ({longest.id}) takes up to about {tokens} of {limit} tokens"
    if tokens > limit:
        larger = "a larger backbone.load.num_ctx, " if limit < engine.context_length else ""
        return "failed", f"{text}: use {larger}protocol.history=… for fewer turns, frames=none, or another model"
    if engine.vision and settings.frames.seen_by != "none" and image_tokens <= 1:
        return "open", f"{text}, without images, which the server does not count"
    return "ok", text


def _count_tokens(settings: RunSettings, engine: Engine, sample: Sample, image_tokens: int) -> int:
    """Counts the tokens of the longest call of a pass, with its completion."""
    frames, backbone, events = settings.frames, settings.backbone, list[Event]()
    blind = frames.model_copy(update={"last_turns": 0})  # decodes no clip
    planned = SystemPlan(plan_prompts(settings), blind, sources={}, cache_dir=Path(settings.cache_dir))
    sampling = BackbonePlan.from_settings(settings).sampling(settings.seed)
    experiment = planned.experiment(engine, sampling, backbone.max_images)
    experiment.run_sample(sample, Dry(), events.append, lambda *_: None)
    shown = min(frames.max_frames, frames.per_clip * frames.last_turns)
    images = 1 if backbone.max_images == 1 else min(shown, backbone.max_images)
    visual = images * image_tokens + shown * FRAME if engine.vision else shown * DESCRIPTION
    inputs = {"V": visual, "M": EXEMPLAR * settings.memory.top_k}
    system = planned.prompts.system
    sees = {agent.name: agent.sees for agent in system.agents}

    def count_call(call: Called) -> float:
        text = sum(len(message.text) for message in call.messages) / CHARACTERS
        unwritten = sum(inputs.get(symbol, 0) for symbol in sees[call.stage])
        return text + unwritten + float(str(call.sampling["num_predict"]))

    longest = max(count_call(event) for event in events if isinstance(event, Called))
    return round(longest + OUTPUT * (len(system.stages) + system.max_repairs))
