"""A run as one folder of static pages: read from its files, put into page models, written through templates.

`sample` and `run_pages` make what pages show, `folder` and `frames` write, `write` goes through it all.
Pages come from models alone, so that each can be tested without a browser.
"""
