"""Measures an auditor: plants faults in the outputs of a finished run, and lets the run's own auditor judge them."""
