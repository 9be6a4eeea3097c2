"""A config, composed in the process that tests/processes.py forks: the first time takes twice as long as the others.

Imported only there, after the modules of commands.
"""

import gc

from mmerg.settings.commands import COMMANDS
from mmerg.settings.compose import compose
from mmerg.settings.parse import parse

parse(compose("config", ["dataset=demo"]), COMMANDS["config"])
gc.freeze()  # in forks, the collector visits only new objects, so memory stays shared
