"""What the process that tests/processes.py forks has done before: a first composing costs twice a later one.

Imported there alone, after the modules that commands need.
"""

import gc

from mmerg.settings.commands import COMMANDS
from mmerg.settings.compose import compose
from mmerg.settings.parse import parse

parse(compose("config", ["dataset=demo"]), COMMANDS["config"])
gc.freeze()  # in a fork the collector looks at what is new alone, and memory stays shared
