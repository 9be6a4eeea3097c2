"""People rate replies: a blind study is drawn from runs, served as a page, and scored with its agreement."""
