"""Figures of finished runs, a kind of plot per file; `style` is shared by all."""
