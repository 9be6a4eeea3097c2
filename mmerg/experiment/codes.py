"""What Hydra does not pass between its jobs and their callbacks, of this process."""

CODES: list[int] = []  # the exit codes of jobs, in their order
ROWS: list[str] = []  # the names of the sweep's rows that began here, the current one last: "top_k=3"
