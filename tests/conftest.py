"""Fixtures and settings for every folder of tests."""

from __future__ import annotations

from hypothesis import settings

pytest_plugins = ["tests.ollama_server"]

settings.register_profile("mmerg", deadline=None)  # no test depends on how fast the machine is
settings.load_profile("mmerg")
