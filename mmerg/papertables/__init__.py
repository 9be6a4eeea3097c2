"""The papers' tables with the user's own runs below: `table_run` reads runs, `table` draws."""
