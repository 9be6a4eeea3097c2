"""Scores of runs: `run_results` reads a run, `metric` is the interface of metrics, and `score` defines a score."""
