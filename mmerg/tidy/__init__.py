"""What run folders hold as tidy data: the six tables (`tables`) and data frames of them (`frames`)."""
