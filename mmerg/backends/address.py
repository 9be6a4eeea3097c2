"""Where a server is: what counts as its address, and a socket that is connected to it."""

import socket
import ssl
from urllib.parse import SplitResult, urlsplit

from mmerg.errors import ConfigError


def opened(url: SplitResult, uds: str, trusted: ssl.SSLContext | None, patience: float) -> socket.socket:
    """A connection within `patience` seconds, to the Unix socket `uds` where it is given. Raises OSError, and
    UnicodeError for a name that none can have."""
    if uds:
        connected = socket.socket(socket.AF_UNIX)
        connected.settimeout(patience)
        try:
            connected.connect(uds)
        except OSError:
            connected.close()
            raise
        return connected
    host, port = url.hostname or "", url.port or (443 if trusted else 80)
    connected = socket.create_connection((host, port), patience)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
    return trusted.wrap_socket(connected, server_hostname=host) if trusted else connected


def split_host(host: str) -> SplitResult:
    """`host` as the address of a server: http or https, a name, maybe a port and a path in front of /api.

    Raises ConfigError, which shows no password, where it is not, or holds a user's name: those would end up in files.
    """
    hint = "write it like http://127.0.0.1:11434"
    if "@" in host:
        shown = repr(f"{host.partition('//')[0]}//***@{host.rpartition('@')[2]}")
        what = "a host's address may hold no user name or password: it is written into runs, reports and errors"
        raise ConfigError(what, where=shown, hint=f"{hint}; a proxy before the server may know it by its address")
    try:
        url = urlsplit(host)
        plain = host.isascii() and host.isprintable() and " " not in host
        complete = plain and url.scheme in {"http", "https"} and url.hostname and url.port != 0
    except ValueError as error:
        raise ConfigError(f"not a host's address: {error}", where=repr(host), hint=hint) from error
    if not complete or url.query or url.fragment:
        raise ConfigError("not a host's address", where=repr(host), hint=hint)
    return url
