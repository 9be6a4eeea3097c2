"""Scores of finished runs. `answers` reads a run, `metric` is the interface of metrics, `score` holds the results."""
