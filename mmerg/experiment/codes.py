"""State of this process that Hydra does not pass between its jobs and callbacks."""

CODES: list[int] = []  # the exit codes of jobs, in order
ROWS: list[str] = []  # the names of the sweep's rows that started here, the current one last: "top_k=3"
