"""The papers' tables with our runs beside: `ours` is what a run brings, `beside` finds its row, the others draw."""
