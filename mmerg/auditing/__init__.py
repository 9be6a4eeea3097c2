"""The measurement of an auditor, which judges faults planted in the outputs of a finished run."""
