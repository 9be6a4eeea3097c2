"""Measures the memory of the model after a run."""

import resource
import sys

from mmerg.backends.ollama_host import OllamaHost
from mmerg.errors import CallError
from mmerg.runs.memory_usage import MemoryUsage
from mmerg.settings.backbone import BackboneSettings, BackendSettings


def measure_memory(server: BackendSettings, model: BackboneSettings) -> MemoryUsage | None:
    """From the first Ollama host that has the model loaded; the peak memory of this process for the embedded backend.
    None for other backends."""
    if server.name == "embedded":
        unit = 1 if sys.platform == "darwin" else 1024  # unit of ru_maxrss in bytes
        return MemoryUsage(gib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30)
    for host in server.hosts if server.name == "ollama" else ():
        try:
            loaded = OllamaHost(host).loaded(model.model)
        except CallError:
            continue
        if loaded and loaded.size:
            on_cpu = 100 * (1 - min((loaded.size_vram or 0) / loaded.size, 1))
            return MemoryUsage(gib=loaded.size / 2**30, on_cpu=on_cpu)
    return None
