"""The calibration of emotions that are read from label probabilities. A finished run on another split gives the model's
mean score and the frequency of each label."""

from collections import Counter
from pathlib import Path
from statistics import fmean

from mmerg.auditing.launch import restore_settings
from mmerg.console.terminal import console, escape
from mmerg.errors import RunError
from mmerg.experiment.plan import plan_prompts
from mmerg.runs.auditor import read_auditor, update_auditor
from mmerg.runs.folder import read_results
from mmerg.runs.identity import CORPUS
from mmerg.runs.manifest import read_manifest
from mmerg.systems.audit import LabelPrior


def calibrate_labels(run: Path, file: Path) -> LabelPrior:
    """Writes the prior of the run's labels to the auditor in `file`, without any call. Raises MmergError if the run
    read no labels, or the auditor is of another model."""
    manifest, results = read_manifest(run), read_results(run).values()
    corpus = manifest.corpus
    logprobs = [result.label_logprobs for result in results if result.label_logprobs]
    if not logprobs:
        what = "the run read no label probabilities"
        hint = "use a run of system=one_pass_calibrated, or of a system with `reads: labels`"
        raise RunError(what, where=str(run), hint=hint)
    prior = LabelPrior(
        corpus=f"{corpus.name} {corpus.split}",
        fingerprint=manifest.identity[CORPUS],
        n=len(logprobs),
        mean={label: round(fmean(by_label[label] for by_label in logprobs), 6) for label in corpus.labels},
        counts=dict(Counter(result.gold_emotion for result in results if result.gold_emotion)),
    )
    settings = restore_settings(run, manifest).model_copy(update={"auditor": None})
    prompts = plan_prompts(settings).compute_label_digests()
    prompts |= {name: manifest.identity[name] for name in prompts.keys() & manifest.identity.keys()}  # of the run
    if file.exists():
        read_auditor(file).check_engine(manifest.engine, str(file))
    update_auditor(file, manifest.engine, prompts, labels=prior)
    console().print(escape(f"{file}: labels of {prior.n} samples of {prior.corpus}"), soft_wrap=True)
    return prior
