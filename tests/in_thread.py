"""A server that runs in a thread while a block runs.

with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, serving(server):
    ...
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseServer


@contextmanager
def serving(server: BaseServer) -> Iterator[None]:
    """Runs the server in a thread and stops it when the block ends. The caller closes the server."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.005})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
