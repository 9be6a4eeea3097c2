"""The backbone of a command: the model, its hosts, and the cache of its completions.

pool, engine = BackbonePlan.from_settings(settings).open()
with closing(pool), pool.lease() as backend:
    backend.complete(request)
"""

import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from mmerg.backends.cache import COMPLETIONS_FILE, CacheMode, build_replay_backend, find_stored_engine, wrap_in_cache
from mmerg.backends.pool import PATIENCE, Host, Pool
from mmerg.backends.protocol import Engine, Sampling
from mmerg.errors import CallError, ConfigError, MmergError
from mmerg.experiment.build import make
from mmerg.runs.manifest import DRY
from mmerg.runs.memory_usage import MemoryUsage
from mmerg.settings.backbone import BackboneSettings, BackendSettings, BatchSettings


@dataclass(frozen=True)
class BackbonePlan:
    """The model of a command, its hosts, and how its completions are cached in `cache_dir`."""

    model: BackboneSettings
    server: BackendSettings
    cache: CacheMode
    cache_dir: Path

    @classmethod
    def from_settings(cls, settings: BatchSettings) -> Self:
        return cls(settings.backbone, settings.backend, settings.cache, Path(settings.cache_dir))

    @property
    def dry(self) -> bool:
        return self.server.name == DRY

    @property
    def name(self) -> str:
        return DRY if self.dry else self.model.name

    def sampling(self, seed: int) -> Sampling:
        return Sampling(seed=seed).override(self.model.sampling.plain())

    def pool(self, patience: float = PATIENCE) -> Pool:
        """Builds the pool of hosts with the completion cache. patience: seconds that a call waits if all are down."""
        hosts = []
        for address in check_hosts(self.server, self.model):
            adapter = make(self.server.adapter, host=address)
            backend = wrap_in_cache(adapter, self.cache_dir / COMPLETIONS_FILE, self.cache)
            hosts.append(Host(backend, self.slots, address))
        return Pool(hosts, self.server.revive_after, patience, attempts=self.server.attempts)

    def open(self, known: Engine | None = None, patience: float = PATIENCE) -> tuple[Pool, Engine]:
        """Returns the hosts and their engine. If no host answers and cache=read, the pool consists of the cache alone.
        known: the engine of its completions; None to look it up there. Raises CallError if no host can be used."""
        pool = self.pool(patience)
        try:
            return pool, pool.describe()
        except MmergError as error:
            pool.close()
            if self.cache != "read" or not isinstance(error, CallError):
                raise
        adapter, path = self.server.adapter, self.cache_dir / COMPLETIONS_FILE
        engine = known or find_stored_engine(path, self.server.name, adapter.model, adapter.load.plain())
        backend = wrap_in_cache(build_replay_backend(engine), path, self.cache)
        return Pool([Host(backend, self.slots, "the cache")]), engine

    @property
    def slots(self) -> int:
        return self.model.concurrency

    def measure_memory(self) -> MemoryUsage | None:
        """Measures the memory of the model on the first Ollama host that has it loaded, or, for the embedded backend,
        the peak memory of this process. Returns None for other backends."""
        from mmerg.backends.ollama_host import OllamaHost

        if self.server.name == "embedded":
            import resource  # Windows lacks it

            unit = 1 if sys.platform == "darwin" else 1024  # unit of ru_maxrss in bytes
            return MemoryUsage(gib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30)
        for host in self.server.hosts if self.server.name == "ollama" else ():
            with suppress(CallError):
                loaded = OllamaHost(host).find_loaded(self.model.model)
                if loaded and loaded.size:
                    on_cpu = 100 * (1 - min((loaded.size_vram or 0) / loaded.size, 1))
                    return MemoryUsage(gib=loaded.size / 2**30, on_cpu=on_cpu)
        return None


def check_hosts(server: BackendSettings, model: BackboneSettings) -> tuple[str, ...]:
    """Returns the names of the hosts or workers. Raises ConfigError if hosts are set for the embedded backend."""
    if server.name == "embedded" and server.hosts != model.workers:
        what = "backend.hosts has no effect on the embedded backend: its model runs in this process"
        hint = "to use a server, add backend=ollama (dataset=demo alone chooses the embedded backend); "
        where = f"backend.hosts=[{','.join(server.hosts)}]"
        raise ConfigError(what, where=where, hint=f"{hint}else remove backend.hosts")
    return server.hosts
