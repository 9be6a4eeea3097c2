"""Runs as tidy data: `tables` reads six tables from run folders, and `frames` makes data frames of them."""
