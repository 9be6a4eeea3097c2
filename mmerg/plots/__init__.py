"""Figures over finished runs: what is counted, apart from how it is drawn. One plot a file; `style` is what they share.

Each file reads no run by itself, except `blame`, which reads events: its data come as values and go to a Figure.
"""
