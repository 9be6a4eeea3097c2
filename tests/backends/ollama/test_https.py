"""An https host, with a trusted and an untrusted certificate."""

import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mmerg.backends.ollama import Ollama
from mmerg.backends.protocol import Message, Request, Sampling
from mmerg.errors import CallError, Failure
from tests.backends.conftest import HANG, LAST, Faulty, chunk, head, line, stream

REQUEST = Request((Message("user", "Hello"),), Sampling(num_predict=8))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 and its key, made by the openssl program."""
    if not shutil.which("openssl"):
        pytest.skip("needs the openssl program to make a certificate")
    folder = tmp_path_factory.mktemp("certificate")
    pem, key = folder / "both.pem", folder / "key.pem"
    key_options = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", *key_options, *names, "-keyout", str(key), "-out", str(pem)]
    subprocess.run(command, check=True, capture_output=True)
    pem.write_text(pem.read_text() + key.read_text())
    return pem


@pytest.fixture
def secure(faulty: Faulty, certificate: Path) -> Faulty:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    faulty.wrap = lambda plain: context.wrap_socket(plain, server_side=True)
    return faulty


def backend(server: Faulty) -> Ollama:
    return Ollama(host=server.host.replace("http:", "https:"), model="m", load={"num_ctx": 512})


def test_chat_and_describe_over_tls(secure: Faulty, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    secure.respond(stream(line("Hi"), LAST))
    assert backend(secure).complete(REQUEST).text == "Hi"
    assert backend(secure).describe().digest == "d1"


def test_close_ends_a_call_over_tls(
    secure: Faulty,
    certificate: Path,
    monkeypatch: pytest.MonkeyPatch,
    in_thread: Callable[[Callable[[], object]], Callable[[], object]],
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    secure.respond(head() + chunk(line("a")), HANG)
    busy = backend(secure)
    result = in_thread(lambda: busy.complete(REQUEST))
    secure.reached_hang.wait()
    busy.close()
    with pytest.raises(CallError) as caught:
        result()
    assert caught.value.failure is Failure.INTERRUPTED


@pytest.mark.parametrize("call", [lambda b: b.describe(), lambda b: b.complete(REQUEST)], ids=["describe", "complete"])
def test_an_untrusted_certificate_is_refused(secure: Faulty, call: Callable[[Ollama], object]) -> None:
    with pytest.raises(CallError, match="certificate") as caught:
        call(backend(secure))
    assert caught.value.failure is Failure.UNREACHABLE
    assert secure.requests == []


def test_a_proxy_in_the_environment_is_ignored(faulty: Faulty, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{nobody.getsockname()[1]}")
        monkeypatch.setenv("no_proxy", "")
        faulty.respond(stream(line("Hi"), LAST))
        plain = Ollama(host=faulty.host, model="m", load={"num_ctx": 512})
        assert plain.complete(REQUEST).text == "Hi"
        assert plain.describe().digest == "d1"
