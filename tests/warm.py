"""Composes a config, so that processes forked by tests/processes.py need not: the first time takes twice as long.

Imported only there, after the modules that commands need.
"""

import gc

from mmerg.settings.commands import COMMANDS
from mmerg.settings.compose import compose
from mmerg.settings.parse import parse

parse(compose("config", ["dataset=demo"]), COMMANDS["config"])
gc.freeze()  # in a fork, the collector looks only at new objects, and memory stays shared
