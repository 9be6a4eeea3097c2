"""What a run folder holds, made ready for other programs: which run it is (`about`), what its trace tells of each
sample (`tries`), and both as typed rows (`rows`, `schemas`, `tables`).
"""
