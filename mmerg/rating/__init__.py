"""Ratings by people: a blind study of runs, the page that shows it, and the scores of the ratings."""
