"""How good an auditor is: faults are planted in what a finished run made, and the run's own auditor judges them."""
