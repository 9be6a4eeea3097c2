"""Tests a model server before a run: `mmerg doctor backbone=qwen2.5vl-7b`.

Checks every host: version, digest, capabilities, a reply, schema, log-probabilities, seeds, speed, simultaneous calls,
with vision the tokens of a frame and two images, and on Ollama the loaded context and what spills to the CPU. With a
dataset and other settings of a run, also checks whether the longest dialogue fits; contamination=true asks the model to
complete lines of the dataset. If one host is down or cannot load the model, the others are still checked.
Exit code 0 nothing failed, 1 a check failed, 2 configuration wrong, no server or no such model.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from mmerg.backends.ollama_host import OllamaHost
from mmerg.backends.pool import USELESS
from mmerg.backends.protocol import SHOWN_DIGEST, Backend, Engine, Sampling
from mmerg.checking import probes
from mmerg.checking.at_once import parallel
from mmerg.checking.contamination import contamination
from mmerg.checking.probes import Finding
from mmerg.checking.room import room
from mmerg.console.terminal import STARTS_OVER, console, escape, plural, start
from mmerg.errors import CallError, ConfigError, Failure
from mmerg.experiment.backbone import check_hosts
from mmerg.experiment.build import load_corpus, make
from mmerg.experiment.plan import plan_prompts
from mmerg.experiment.program import run_program
from mmerg.runs.auditor import read_auditor
from mmerg.runs.manifest import DRY
from mmerg.settings.backbone import DoctorSettings
from mmerg.settings.commands import DoctorRunSettings

Settings: TypeAlias = DoctorSettings | DoctorRunSettings
CALLS = 35  # of the checks of a host, about, and with each call at once some more
MARKS = {"ok": "✓", "failed": "✗", "open": "?"}


def examine(settings: Settings) -> int:
    """Reports on every host, and gives the exit code. Raises CallError where no host could be examined."""
    out = console()
    failed = 0
    hosts = check_hosts(settings.backend, settings.backbone)
    absent: list[CallError] = []
    out.print(f"about {CALLS} short calls per host: about a minute on a GPU, longer on a CPU")
    for host in hosts:
        out.print(escape(f"{host}, backbone {settings.backbone.name}"))
        for name, (status, text) in _findings(settings, host, absent):
            out.print(escape(f"  {MARKS[status]} {name}: {text}"), soft_wrap=True)
            failed += status == "failed"
    if len(absent) == len(hosts):
        raise absent[0]
    out.print(f"{plural(failed, 'check')} failed" if failed else "nothing failed")
    return 1 if failed else 0


def _findings(settings: Settings, host: str, absent: list[CallError]) -> Iterator[tuple[str, Finding]]:
    """The checks of a host, one by one. `absent` gets the error where there is no server, or it lacks the model or
    cannot load it: no further call is made then."""
    with closing(make(settings.backend.adapter, host=host)) as backend:
        try:
            engine: Engine = backend.describe()
            yield "server", ("ok", f"{engine.backend} {engine.version}")
            yield from _of_model(settings, host, backend, engine)
        except CallError as error:
            absent.append(error)
            yield "model" if error.failure in USELESS else "server", _failed(error)


def _of_model(settings: Settings, host: str, backend: Backend, engine: Engine) -> Iterator[tuple[str, Finding]]:
    capabilities = ", ".join(engine.capabilities)
    yield "model", ("ok", f"{engine.model}, digest {engine.digest[:SHOWN_DIGEST]}, {capabilities}")
    yield "context", _context(engine)
    image_tokens = 0
    if engine.vision:
        image_tokens, found = _frame(settings, backend, engine)
        yield "frame", found
    else:
        yield "vision", ("ok", "no: the model gets measured descriptions of frames")
    if isinstance(settings, DoctorRunSettings):
        status, text = _auditor(settings, engine) if settings.auditor else ("ok", "")
        if settings.auditor:
            yield "auditor", (status, text)
        if status == "ok":  # else the run's prompts are not those that the auditor is of
            yield "room", room(settings, engine, image_tokens)
    for name, probe in _probes(settings, host, backend, engine).items():
        yield name, _tried(probe)


def _auditor(settings: DoctorRunSettings, engine: Engine) -> Finding:
    try:
        plan_prompts(settings)
        auditor = read_auditor(Path(settings.auditor or ""))
        auditor.check_engine(engine, str(settings.auditor))
    except ConfigError as error:
        return "failed", f"{error.what}; {error.hint}"
    return "ok", auditor.describe().replace("\n", "; ")


def _tried(probe: Callable[[], Finding]) -> Finding:
    """What a probe finds. Raises CallError where the server cannot load the model: so would every other call."""
    try:
        return probe()
    except CallError as error:
        if error.failure is Failure.MODEL_NOT_LOADED:
            raise
        return _failed(error)


def _probes(settings: Settings, host: str, backend: Backend, engine: Engine) -> dict[str, Callable[[], Finding]]:
    backbone = settings.backbone
    sampling = Sampling().changed(backbone.sampling.plain())
    several = engine.vision and backbone.max_images > 1
    return {
        "reply": partial(probes.answers, backend),
        **(
            {} if engine.backend == DRY else {"speed": partial(probes.speed, backend, CALLS + 6 * backbone.concurrency)}
        ),
        "schema": partial(probes.schema, backend),
        "logprobs": partial(probes.logprobs, backend),
        "likelihood": partial(probes.likelihood, backend),
        "seeds": partial(probes.seeds, backend, sampling),
        **({"two images": partial(probes.two_images, backend)} if several else {}),
        "parallel": partial(parallel, backend, backbone.concurrency, engine.vision),
        **({"memory": partial(_memory, host, engine)} if engine.backend == "ollama" else {}),
        **({"contamination": partial(_contamination, settings, backend)} if settings.contamination else {}),
    }


def _contamination(settings: Settings, backend: Backend) -> Finding:
    if isinstance(settings, DoctorRunSettings):
        return contamination(backend, load_corpus(settings.dataset))
    return "open", "contamination needs a dataset: add dataset=meld dataset.root=~/MELD"


def _frame(settings: Settings, backend: Backend, engine: Engine) -> tuple[int, Finding]:
    """The tokens of an image as a run sends it, from a clip of 4:3 that is large enough; 0 where the call fails."""
    side = settings.frames.long_side if isinstance(settings, DoctorRunSettings) else settings.backbone.image_side
    side *= 2 if settings.backbone.max_images == 1 else 1  # a grid of frames
    tokens = 0

    def measure() -> Finding:
        nonlocal tokens
        tokens = probes.frame_tokens(backend, side, side * 3 // 4)
        return probes.frame_detail(tokens, side, side * 3 // 4, _family(backend, engine), engine)

    found = _tried(measure)
    return tokens, found


def _family(backend: Any, engine: Engine) -> str:
    """The architecture of the model where the server tells it, else the model's name."""
    return str(getattr(backend, "architecture", "")) or engine.model.lower()


def _failed(error: CallError) -> Finding:
    return "failed", f"{error.failure}: {error.what}" + f"; {error.hint}" * bool(error.hint)


def _context(engine: Engine) -> Finding:
    wanted = int(engine.load.get("num_ctx", 0))
    if engine.context_length and wanted > engine.context_length:
        text = f"num_ctx {wanted} is over the model's own {engine.context_length}: the server would clamp it silently"
        return "failed", f"{text}; set backbone.load.num_ctx={engine.context_length}"
    most = f"{engine.context_length} tokens" if engine.context_length else "an unknown context"
    return "ok", f"num_ctx {wanted} of {most}"


def _memory(host: str, engine: Engine) -> Finding:
    """The context and the place that the model was really loaded with, as known after the first call."""
    now = OllamaHost(host).loaded(engine.model)
    if now is None:
        return "failed", "the model is not loaded after a call; the server unloads it at once"
    wanted, size = int(engine.load.get("num_ctx", 0)), now.size or 0
    loaded = f"{size / 2**30:.1f} GiB, context {now.context_length} as loaded"
    if now.context_length and now.context_length < wanted:
        return "failed", f"{loaded}, {wanted} was asked for"
    if on_cpu := size - (now.size_vram or 0):
        return (
            "open",
            f"{loaded}, {100 * on_cpu / size:.0f} % of it on the CPU, which is slow; a smaller num_ctx may fit the GPU",
        )
    return "ok", f"{loaded}, all of it on the GPU"


def main() -> int:
    with_dataset = any(word.startswith("dataset=") for word in sys.argv[1:])
    return run_program("doctor_run" if with_dataset else "doctor", examine, __doc__, interrupted=STARTS_OVER)


if __name__ == "__main__":
    start(main)
