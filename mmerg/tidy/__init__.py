"""What run folders hold as tidy data: typed rows (`rows`), their columns (`columns`), and data frames (`frames`)."""
