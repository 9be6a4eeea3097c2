"""What a run folder holds, made ready for other programs: which run it is (`about`), what happened to each
sample (`samples`), and both as typed rows (`rows`, `schemas`, `tables`).
"""
