"""Reports: runs as folders of static pages.

`sample` and `run_pages` hold what pages show, `render` fills templates, and `write` puts the report together.
"""
