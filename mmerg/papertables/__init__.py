"""The papers' tables with runs of the user's own: `candidates` reads runs, `rows` finds their rows, `matched` draws a
table."""
