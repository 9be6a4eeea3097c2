"""Figures over finished runs, one plot a file; `style` is what they share."""
