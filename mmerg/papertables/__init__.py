"""The papers' tables with the user's own runs below: `candidates` reads runs, `table` draws."""
