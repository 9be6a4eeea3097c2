"""The papers' tables with runs of the user's own: `candidates` reads runs, `rows` finds their rows, `matched` the lines
of a table, `others` lines for what is no run."""
