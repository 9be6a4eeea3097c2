"""Judgements of finished runs by a local model. A judge is a system with an independent stage per aspect."""
