"""What run folders hold as tidy data: the five tables (`tables`), data frames of them (`frames`), and Inspect's log."""
