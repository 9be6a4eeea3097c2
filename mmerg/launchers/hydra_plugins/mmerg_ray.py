"""A Hydra launcher for Ray: `mmerg run -m … hydra/launcher=ray` makes each job a Ray task.

hydra-ray-launcher has the same settings, but it needs cloudpickle < 3, which joblib and submitit exclude.
hydra-joblib-launcher always uses joblib's processes. Hydra finds launchers only in the package `hydra_plugins`.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hydra.core.hydra_config import HydraConfig
from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, run_job, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf, open_dict

from mmerg.errors import ConfigError, RunError


class Sweep(NamedTuple):
    """The state that all jobs of a sweep share."""

    context: HydraContext
    function: TaskFunction
    singletons: dict[Any, Any]
    folder: Path  # the working directory of the command


class RayLauncher(Launcher):
    """A launcher that runs a sweep's jobs on Ray. ray: the arguments of ray.init (`init`) and ray.remote (`remote`)."""

    def __init__(self, ray: DictConfig) -> None:
        self._ray: Any = OmegaConf.to_container(ray, resolve=True)

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self._context, self._function, self._config = hydra_context, task_function, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Runs the jobs and returns their results. Raises ConfigError if there is no Ray cluster, and RunError, once
        all other jobs have ended, if Ray lost some jobs."""
        setup_globals()
        try:
            import ray

            ray.init(**self._ray["init"])
        except (ImportError, ConnectionError) as error:
            hint = "pip install 'mmerg[ray]'; set hydra.launcher.ray.init.address=HOST:PORT to use a cluster"
            raise ConfigError(f"Ray cannot be used: {error}", where="hydra/launcher=ray", hint=hint) from error
        sweep = ray.put(Sweep(self._context, self._function, Singleton.get_state(), Path.cwd()))
        run = ray.remote(**self._ray["remote"])(_run)
        tasks = []
        for number, overrides in enumerate(job_overrides, initial_job_idx):
            config = self._context.config_loader.load_sweep_config(self._config, list(overrides))
            with open_dict(config):
                config.hydra.job.id, config.hydra.job.num = str(number), number
            tasks.append(run.remote(sweep, config))
        returns, lost = [], []
        for task in tasks:
            try:
                returns.append(ray.get(task))
            except ray.exceptions.RayError as error:
                lost.append(str(error).strip().splitlines()[-1])
        if lost:
            what = f"Ray lost {len(lost)} of {len(tasks)} jobs: {lost[0]}"
            raise RunError(what, where="hydra/launcher=ray", hint="the same command runs them again")
        return returns


def _run(sweep: Sweep, config: DictConfig) -> JobReturn:
    os.chdir(sweep.folder)
    setup_globals()
    Singleton.set_state(sweep.singletons)
    HydraConfig.instance().set_config(config)
    return run_job(
        hydra_context=sweep.context,
        task_function=sweep.function,
        config=config,
        job_dir_key="hydra.sweep.dir",
        job_subdir_key="hydra.sweep.subdir",
    )
