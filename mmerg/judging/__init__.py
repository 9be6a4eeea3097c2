"""A local model as judge of finished runs: a system of independent stages over replies that are there already.

`items` is what is judged, `judge` asks, `ratings` and `preferences` make figures of the verdicts, `launch` is what the
command does.
"""
