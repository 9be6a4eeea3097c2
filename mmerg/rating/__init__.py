"""People rate replies: draws a blind study from runs, serves it as a page, and scores it with agreement."""
