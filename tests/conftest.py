"""Fixtures and settings for every folder of tests."""

import signal

from hypothesis import settings

pytest_plugins = ["tests.browser", "tests.ollama_server"]

settings.register_profile("mmerg", deadline=None)  # no test depends on how fast the machine is
settings.load_profile("mmerg")

# A shell starts what it puts into the background with Ctrl-C ignored; commands that tests interrupt would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
