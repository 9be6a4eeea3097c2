"""Lets people rate replies: builds a blind study of runs, serves it as a page, and scores the ratings."""
