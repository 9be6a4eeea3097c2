"""What run folders hold as tidy data: the five tables (`tables`) and data frames of them (`frames`)."""
