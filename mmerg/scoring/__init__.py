"""Scores over a finished run: read its folder, never call a model that wrote it. `answers` is what is scored, `metric`
what a metric is, `score` what it gives; one metric a file.
"""
