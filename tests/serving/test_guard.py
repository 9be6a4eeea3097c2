"""Access to the server, the limit of requests, and files that no request may reach."""

import json
import logging
import socket
from collections.abc import Iterator
from http.client import HTTPResponse

import httpx
import pytest

from mmerg.backends.scripted import Scripted
from tests.serving.running import Running, running
from tests.serving.scripts import echo

SECRET = "a-token-of-this-test"
ROUTES = ("/", "/page/setup", "/docs", "/v1/models", "/api/tags", "/page/index.html", "/none")
BODY = {"model": "mmerg-one_pass", "messages": [{"role": "user", "content": "my secret sorrow"}]}


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(Scripted(echo), "limits.clip_mb=1", "limits.picture_mb=1") as server:
        yield server


@pytest.fixture(scope="module")
def locked() -> Iterator[Running]:
    with running(Scripted(echo), "names=[talk.example]", token=SECRET) as server:
        yield server


def port(server: Running) -> str:
    return server.url.rpartition(":")[2]


def get(server: Running, path: str, **headers: str) -> httpx.Response:
    return server.client.get(path, headers=headers)


def test_foreign_host_names_are_refused(server: Running) -> None:
    for path in ROUTES:
        answer = get(server, path, Host=f"evil.example:{port(server)}")
        assert (answer.status_code, "start the server with names=" in answer.text) == (421, True), path
    for host in ("127.0.0.1.evil.example", ""):
        assert get(server, "/", Host=host).status_code == 421, host
    for host in (f"127.0.0.1:{port(server)}", "localhost", "LOCALHOST:1", "[::1]:80", "192.168.1.5:8000"):
        assert get(server, "/", Host=host).status_code == 200, host


def test_further_host_names_can_be_accepted(locked: Running) -> None:
    assert get(locked, "/v1/models", Host="talk.example", Authorization=f"Bearer {SECRET}").status_code == 200
    assert get(locked, "/v1/models", Host="talks.example", Authorization=f"Bearer {SECRET}").status_code == 421


def test_on_all_interfaces_any_host_name_is_accepted_with_the_token() -> None:
    with running(Scripted(echo), "host=0.0.0.0", token=SECRET) as server:
        assert get(server, "/v1/models", Host="lab.example", Authorization=f"Bearer {SECRET}").status_code == 200
        assert get(server, "/v1/models", Host="evil.example", Origin="http://evil.example").status_code == 401


def test_pages_of_other_origins_are_refused(server: Running) -> None:
    host = f"127.0.0.1:{port(server)}"
    for path in ROUTES:
        assert get(server, path, Host=host, Origin="https://evil.example").status_code == 403, path
    for origin in ("null", f"http://localhost:{port(server)}", "http://127.0.0.1:1"):
        assert get(server, "/", Host=host, Origin=origin).status_code == 403, origin
    assert get(server, "/", Host=host, Origin=f"http://{host}").status_code == 200


def test_pages_of_named_origins_may_send_requests_with_the_token() -> None:
    theirs = "tauri://localhost"
    with running(Scripted(echo), f"origins=[{theirs}]", token=SECRET) as server:
        want = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
        before = server.client.options("/v1/chat/completions", headers={"Origin": theirs, **want})
        assert before.headers["access-control-allow-origin"] == theirs
        assert before.headers["access-control-allow-headers"] == "authorization,content-type"
        keyed = {"Origin": theirs, "Authorization": f"Bearer {SECRET}"}
        answer = server.client.post("/v1/chat/completions", json=BODY, headers=keyed)
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, theirs)
        assert get(server, "/v1/models", Origin=theirs).status_code == 401
        assert get(server, "/v1/models", **keyed | {"Origin": "http://localhost:1"}).status_code == 403


def test_every_route_needs_the_token(locked: Running) -> None:
    for path in ROUTES:
        assert get(locked, path).status_code == 401, path
        assert get(locked, path, Authorization=f"bearer {SECRET}").status_code in (200, 404)
    for headers in ({"Authorization": f"Bearer {SECRET[:-1]}"}, {"Cookie": "mmerg=x"}):
        assert get(locked, "/", **headers).status_code == 401, headers
    assert get(locked, "/?token=wrong").status_code == 401


def test_health_is_open_and_the_api_is_described(locked: Running) -> None:
    assert get(locked, "/health").json() == {"status": "ok"}
    described = get(locked, "/openapi.json", Authorization=f"Bearer {SECRET}").json()["paths"]
    taken = described["/v1/chat/completions"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert taken["required"] == ["model", "messages"]
    assert "/api/version" in described


def test_a_browser_without_the_token_gets_a_form_for_it(locked: Running) -> None:
    form = get(locked, "/", Accept="text/html")
    assert (form.status_code, "needs its token" in form.text) == (401, True)
    for path in ("/page/token.js", "/page/base.css", "/page/page.css", "/page/icon.svg"):
        assert get(locked, path).status_code == 200


def test_the_page_gets_a_cookie_for_the_token(locked: Running) -> None:
    with httpx.Client(base_url=locked.url) as browser:
        first = browser.get("/", params={"token": SECRET})
        assert (first.status_code, first.headers["location"]) == (303, "/")
        cookie = first.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=lax" in cookie.lower()  # strict: a link in a mail would open an error
        assert browser.get("/page/setup").status_code == 200


def test_each_api_gets_errors_in_its_own_form(locked: Running) -> None:
    assert get(locked, "/v1/models").json()["error"]["message"].startswith("the token is missing or wrong")
    assert get(locked, "/api/tags").json()["error"].startswith("the token is missing or wrong")
    assert set(get(locked, "/page/setup").json()) == {"what", "where", "hint"}


def test_every_response_forbids_foreign_scripts_and_frames(server: Running) -> None:
    for answer in (get(server, "/"), get(server, "/page/page.js"), get(server, "/none", Host="evil.example")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("path", ["/page/../app.py", "/page/..%2fapp.py"])
def test_no_path_reaches_other_files(server: Running, path: str) -> None:
    with socket.create_connection(("127.0.0.1", int(port(server)))) as raw:  # httpx would normalise the path
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 404 ")


def test_a_request_with_a_large_content_length_is_refused_unread(server: Running) -> None:
    with socket.create_connection(("127.0.0.1", int(port(server)))) as raw:
        request = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 104857600\r\n\r\n"
        raw.sendall(request.encode())
        with HTTPResponse(raw) as answer:
            answer.begin()
            assert answer.status == 413
            assert "send fewer or smaller files" in json.loads(answer.read())["error"]["message"]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/page/turns"])
def test_a_stream_that_becomes_too_large_is_refused(server: Running, path: str) -> None:
    def endless() -> Iterator[bytes]:
        yield b'--x\r\nContent-Disposition: form-data; name="clip"; filename="c"\r\n\r\n'
        for _ in range(64):
            yield b"a" * 2**20

    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    try:
        status = server.client.post(path, content=endless(), headers=kind).status_code
    except httpx.TransportError:  # refused while it is sent
        status = 413
    assert status == 413
    assert get(server, "/v1/models").status_code == 200


def test_a_picture_that_is_too_large_is_refused(server: Running) -> None:
    url = "data:image/png;base64," + "A" * (2 * 2**20)
    message = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}
    answer = server.client.post("/v1/chat/completions", json={**BODY, "messages": [message]})
    assert (answer.status_code, "a picture has 1.5 MB, over 1" in answer.text) == (400, True)


def test_logs_hold_no_text_of_users_and_no_token(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: object) -> str:
        raise ValueError("my secret sorrow")

    talk = {"chat": "a", "system": "mmerg-one_pass", "turns": [{"role": "user", "text": "my secret sorrow"}]}
    with caplog.at_level(logging.DEBUG), running(Scripted(fail), token=SECRET) as server:
        key = {"Authorization": f"Bearer {SECRET}"}
        assert server.client.post("/v1/chat/completions", json=BODY, headers=key).status_code == 500
        answer = server.client.post("/page/turns", files={"talk": (None, json.dumps(talk))}, headers=key)
        assert "event: failed" in answer.text
        server.client.get(f"/?token={SECRET}")
    logged = "\n".join(record.getMessage() for record in caplog.records if not record.name.startswith("http"))
    assert '"POST /v1/chat/completions HTTP/1.1" 500' in logged
    assert '"GET / HTTP/1.1" 303' in logged
    assert "a fault of the server: ValueError at" in logged
    assert SECRET not in logged
    assert "secret sorrow" not in logged
