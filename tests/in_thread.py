"""A server that answers from a thread for as long as a block runs.

with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, serving(server):
    ...
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseServer


@contextmanager
def serving(server: BaseServer) -> Iterator[None]:
    """Answer in a thread; when the block ends, stop and wait for it. Who made the server closes it."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.005})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
