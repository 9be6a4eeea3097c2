"""Tests a model server before a run: `mmerg doctor backbone=qwen2.5vl-7b`.

Checks every host: version, digest, capabilities, a completion, schema, log-probabilities, seeds, speed, simultaneous
calls, with vision the tokens of a frame and two images, and on Ollama the loaded context and what spills to the CPU.
With a dataset and other settings of a run, also checks whether the longest dialogue fits the context, and the run's
auditor; contamination=true asks the model to complete lines of the dataset. If one host is down or cannot load the
model, the others are still checked. Exit code 0 nothing failed, 1 a check failed, 2 configuration wrong, no server or
no such model.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TypeAlias

from mmerg.backends.ollama_host import OllamaHost
from mmerg.backends.pool import LASTING_FAILURES
from mmerg.backends.protocol import SHOWN_DIGEST, Backend, Engine, Sampling
from mmerg.checking import probes
from mmerg.checking.at_once import check_parallel
from mmerg.checking.contamination import check_contamination
from mmerg.checking.probes import Finding
from mmerg.checking.room import check_room
from mmerg.console.terminal import EXIT_ERROR, STARTS_OVER, console, escape, plural, start
from mmerg.errors import CallError, Failure, MmergError
from mmerg.experiment.backbone import check_hosts
from mmerg.experiment.build import load_corpus, make
from mmerg.experiment.plan import plan_system
from mmerg.experiment.program import run_program
from mmerg.runs.auditor import read_auditor
from mmerg.settings.backbone import DoctorSettings
from mmerg.settings.commands import DoctorRunSettings

Settings: TypeAlias = DoctorSettings | DoctorRunSettings
CALLS = 35  # of the checks per host, about; simultaneous calls come on top
MARKS = {"ok": "✓", "failed": "✗", "open": "?"}


def examine(settings: Settings) -> int:
    """Checks every host, prints the findings and returns the exit code."""
    out = console()
    failed = 0
    hosts = check_hosts(settings.backend, settings.backbone)
    unusable: list[str] = []
    out.print(f"about {CALLS} short calls per host: about a minute on a GPU, longer on a CPU")
    for host in hosts:
        out.print(escape(f"{host}, backbone {settings.backbone.name}"))
        for name, (status, text) in _check_host(settings, host, unusable):
            out.print(escape(f"  {MARKS[status]} {name}: {text}"), soft_wrap=True)
            failed += status == "failed"
    if len(unusable) == len(hosts):
        out.print("no host could be checked")
        return EXIT_ERROR
    out.print(f"{plural(failed, 'check')} failed" if failed else "nothing failed")
    return 1 if failed else 0


def _check_host(settings: Settings, host: str, unusable: list[str]) -> Iterator[tuple[str, Finding]]:
    """Yields each check of a host with its finding. If there is no server, or it lacks the model or cannot load it, the
    checks end and the host is added to `unusable`."""
    with closing(make(settings.backend.adapter, host=host)) as backend:
        try:
            engine: Engine = backend.describe()
            yield "server", ("ok", f"{engine.backend} {engine.version}")
            yield from _check_model(settings, host, backend, engine)
        except CallError as error:
            unusable.append(host)
            yield "model" if error.failure in LASTING_FAILURES else "server", _failed(error)


def _check_model(settings: Settings, host: str, backend: Backend, engine: Engine) -> Iterator[tuple[str, Finding]]:
    backbone = settings.backbone
    capabilities = ", ".join(engine.capabilities)
    yield "model", ("ok", f"{engine.model}, digest {engine.digest[:SHOWN_DIGEST]}, {capabilities}")
    yield "context", probes.check_context(engine)
    size = _image_size(settings)
    image_tokens = cache(lambda: probes.count_frame_tokens(backend, *size))
    if engine.vision:
        yield "frame", _run(lambda: probes.check_frame_tokens(image_tokens(), *size, engine))
    else:
        yield "vision", ("ok", "no: the model gets measured descriptions of frames")
    if isinstance(settings, DoctorRunSettings):
        if settings.auditor:
            yield "auditor", _auditor(settings, settings.auditor, engine)
        alone = settings.model_copy(update={"auditor": None})
        yield "room", _run(lambda: check_room(alone, engine, image_tokens() if engine.vision else 0))
    yield "completion", _run(lambda: probes.check_completion(backend))
    yield "speed", _run(lambda: probes.check_speed(backend, CALLS + 6 * backbone.concurrency))
    yield "schema", _run(lambda: probes.check_schema(backend))
    yield "logprobs", _run(lambda: probes.check_logprobs(backend))
    yield "likelihood", _run(lambda: probes.check_likelihood(backend))
    yield "seeds", _run(lambda: probes.check_seeds(backend, Sampling().override(backbone.sampling.plain())))
    if engine.vision and backbone.max_images > 1:
        yield "two images", _run(lambda: probes.check_two_images(backend))
    yield "parallel", _run(lambda: check_parallel(backend, backbone.concurrency, engine.vision))
    if engine.backend == "ollama":
        yield "memory", _run(lambda: probes.check_loaded_model(OllamaHost(host).find_loaded(engine.model), engine))
    if settings.contamination:
        yield "contamination", _run(lambda: _contamination(settings, backend))


def _auditor(settings: DoctorRunSettings, path: str, engine: Engine) -> Finding:
    try:
        auditor = read_auditor(Path(path))
        auditor.check_engine(engine, path)
        plan_system(settings, load_corpus(settings.dataset))
    except MmergError as error:
        return "failed", f"{error.what}; {error.hint}"
    labels = f"labels calibrated on {auditor.labels.corpus}" if auditor.labels else ""
    return "ok", "; ".join(filter(None, (*auditor.describe().splitlines(), labels)))


def _run(probe: Callable[[], Finding]) -> Finding:
    """Returns the finding of a probe. Raises CallError if the server cannot load the model, as any other call would."""
    try:
        return probe()
    except CallError as error:
        if error.failure is Failure.MODEL_NOT_LOADED:
            raise
        return _failed(error)


def _contamination(settings: Settings, backend: Backend) -> Finding:
    if isinstance(settings, DoctorRunSettings):
        return check_contamination(backend, load_corpus(settings.dataset))
    return "open", "contamination needs a dataset: add dataset=meld dataset.root=~/MELD"


def _image_size(settings: Settings) -> tuple[int, int]:
    """Returns the width and height of an image as a run sends it, from a clip of 4:3 that is large enough."""
    width = settings.frames.long_side if isinstance(settings, DoctorRunSettings) else settings.backbone.image_side
    width *= 2 if settings.backbone.max_images == 1 else 1  # a grid of frames
    return width, width * 3 // 4


def _failed(error: CallError) -> Finding:
    return "failed", f"{error.failure}: {error.what}" + f"; {error.hint}" * bool(error.hint)


def main() -> int:
    with_dataset = any(word.startswith("dataset=") for word in sys.argv[1:])
    return run_program("doctor_run" if with_dataset else "doctor", examine, __doc__, interrupted=STARTS_OVER)


if __name__ == "__main__":
    start(main)
