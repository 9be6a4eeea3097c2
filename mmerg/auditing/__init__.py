"""How good an auditor is: faults are planted in what a finished run made, and the run's own auditor judges them.

`first_passes` reads what the auditor was shown and finds faults to plant, `audits` asks, `planted` makes figures of the
answers, `launch` is what the command does.
"""
