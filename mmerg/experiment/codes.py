"""The exit codes of this process's jobs, in their order: Hydra drops what jobs return."""

CODES: list[int] = []
