"""The papers' tables with the user's runs below: `table_run` reads runs, and `table` makes the tables."""
