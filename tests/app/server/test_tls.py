"""TLS of the gateway itself, and mutual TLS to workers, with real certificates."""

import asyncio
import ssl
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme

from app.server.tls import make_tls
from app.settings import SettingError, read_settings
from tests.app.cli.command import switchyard
from tests.app.examples import body
from tests.app.gateway import PATIENCE, Gateway
from tests.app.server.serving import serving
from tests.app.small_tokenizer import TEMPLATE, folder
from tests.campaigns.workers.fake import FakeWorker, Fault, Loop, Reply

pytestmark = pytest.mark.program


class Files:
    """An authority, a certificate for this machine, and one of a client, as files."""

    def __init__(self, place: Path) -> None:
        self.authority = trustme.CA()
        self.ca = place / "ca.pem"
        self.authority.cert_pem.write_to_path(str(self.ca))
        self.server = self._issued(place / "server.pem")
        self.client = self._issued(place / "client.pem")
        self.other = place / "other.pem"
        trustme.CA().issue_cert("127.0.0.1").private_key_pem.write_to_path(str(self.other))

    def _issued(self, path: Path) -> Path:
        made = self.authority.issue_cert("127.0.0.1", "localhost")
        made.private_key_and_cert_chain_pem.write_to_path(str(path))
        return path

    def trusting(self, certificate: Path | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.ca)
        if certificate is not None:
            context.load_cert_chain(certificate)
        return context

    def demanding(self) -> ssl.SSLContext:
        """Return the context of a server that wants a client's certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.server)
        context.load_verify_locations(self.ca)
        context.verify_mode = ssl.CERT_REQUIRED
        return context


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("certificates"))


@pytest.mark.parametrize("processes", [1, 2])
def test_clients_reach_the_gateway_by_tls_only(files: Files, processes: int) -> None:
    with serving(tls_certificate=files.server, processes=processes) as address:
        with httpx.Client(verify=files.trusting(), timeout=PATIENCE) as client:
            answer = client.post(f"https://{address}/v1/chat/completions", json=body())
            assert answer.status_code == 200
        old = files.trusting()
        old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        for scheme, context in [("http", files.trusting()), ("https", old)]:
            with pytest.raises(httpx.TransportError):
                httpx.get(f"{scheme}://{address}/health", verify=context, timeout=PATIENCE)


def test_clients_need_a_certificate_of_the_authority(files: Files) -> None:
    with serving(tls_certificate=files.server, tls_client_ca=files.ca) as address:
        url = f"https://{address}/health/live"
        allowed = files.trusting(files.client)
        assert httpx.get(url, verify=allowed, timeout=PATIENCE).status_code == 200
        with pytest.raises(httpx.TransportError):
            httpx.get(url, verify=files.trusting(), timeout=PATIENCE)


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"tls_certificate": "none"}, "SWITCHYARD_TLS_CERTIFICATE: {none}: No such file"),
        ({"tls_certificate": "server", "tls_key": "none"}, "SWITCHYARD_TLS_KEY: {none}: No such"),
        ({"tls_certificate": "server", "tls_key": "other"}, "are no certificate with its key"),
        ({"tls_certificate": "ca"}, "SWITCHYARD_TLS_CERTIFICATE: {ca} and its key are no"),
        (
            {"tls_certificate": "server", "tls_client_ca": "none"},
            "SWITCHYARD_TLS_CLIENT_CA: {none}",
        ),
        ({"tls_certificate": "server", "tls_client_ca": "other"}, "SWITCHYARD_TLS_CLIENT_CA:"),
    ],
)
def test_an_unusable_file_is_named(files: Files, named: dict[str, str], words: str) -> None:
    paths = {"none": files.ca.with_name("none"), **vars(files)}
    settings = read_settings(**{name: str(paths[file]) for name, file in named.items()})
    with pytest.raises(SettingError) as caught:
        make_tls(settings.gateway)
    assert words.format(**paths) in str(caught.value)


def test_an_unusable_file_aborts_startup(files: Files) -> None:
    done = switchyard("serve", port=0, tls_certificate=files.other)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert done.stderr.startswith("switchyard: SWITCHYARD_TLS_CERTIFICATE: ")
    with pytest.raises(SettingError, match="TLS_KEY and TLS_CLIENT_CA need TLS_CERTIFICATE"):
        read_settings(tls_key=str(files.server))


def test_generations_and_aborts_reach_workers_by_mutual_tls(files: Files, tmp_path: Path) -> None:
    from app.conversation.tokenizer import load_tokenizer

    place = folder(tmp_path, TEMPLATE)
    worker = FakeWorker(load_tokenizer(place, "auto").vocabulary, files.demanding())
    with closing(Loop()) as loop:
        loop.run(worker.listen())
        chosen = {"worker_tls_ca": str(files.ca), "worker_tls_certificate": str(files.client)}
        with Gateway(workers=worker.url, tokenizer=place, model_name="m", **chosen) as gateway:
            for number in (7, 8):
                answer = gateway.post(asked(number)).json()
                assert answer["choices"][0]["message"]["content"] == f'{{"n": {number}}}'
            worker.fault = Fault("silent", "mid", silent)
            with gateway.raw_request(asked(9, stream=True)):
                gateway.eventually(lambda: worker.attempts == 3)
            gateway.eventually(lambda: worker.aborts == 1)
        loop.run(worker.refuse())


def asked(number: int, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": f"number {number}"}
    return {"model": "m", "messages": [message], "max_tokens": 50, **more}


async def silent(reply: Reply) -> None:
    await reply.begin()
    await asyncio.sleep(PATIENCE)


@pytest.mark.parametrize(
    ("shown", "reached"), [("client", True), (None, False), ("untrusted", False)]
)
def test_workers_may_require_the_gateways_certificate(
    files: Files, tmp_path: Path, shown: str | None, reached: bool
) -> None:
    """Health checks use the certificate as well, so a worker that refuses it is not ready."""
    from app.composition.workers import make_sglang_worker
    from app.conversation.tokenizer import load_tokenizer

    place = folder(tmp_path, TEMPLATE)
    chosen: dict[str, Any] = {"workers": "https://127.0.0.1:1", "tokenizer": place}
    if shown != "untrusted":
        chosen["worker_tls_ca"] = str(files.ca)
    if shown is not None:
        chosen["worker_tls_certificate"] = str(files.client)
    (settings,) = read_settings(**chosen).models
    tokenizer = load_tokenizer(place, "auto")
    requests: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 503 x\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    async def ask() -> str:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(files.server)
        context.load_verify_locations(files.ca)
        context.verify_mode = ssl.CERT_REQUIRED
        server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        worker = make_sglang_worker(settings, tokenizer, f"https://127.0.0.1:{port}")
        try:
            return (await worker.health()).reason
        except Exception as error:
            return f"failed: {error}"
        finally:
            await worker.aclose()
            server.close()

    reason = asyncio.run(ask())
    if reached:
        assert reason == "the server answers 503: starting or stopping"
    else:
        # TLS 1.3: a server refuses a certificate after the handshake; its alert may be lost
        assert (reason.partition(" ")[0], requests) == ("failed:", [])


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"worker_tls_ca": "other"}, "SWITCHYARD_WORKER_TLS_CA: "),
        ({"worker_tls_certificate": "ca"}, "SWITCHYARD_WORKER_TLS_CERTIFICATE: "),
        ({"worker_tls_key": "other"}, "WORKER_TLS_KEY needs SWITCHYARD_WORKER_TLS_CERTIFICATE"),
    ],
)
def test_an_unusable_file_of_workers_is_named(
    files: Files, named: dict[str, str], words: str
) -> None:
    from app.composition.workers import make_worker_tls

    given = {name: str(getattr(files, file)) for name, file in named.items()}

    def make() -> None:
        make_worker_tls(read_settings(**given).models[0])

    with pytest.raises(SettingError) as caught:
        make()
    assert words in str(caught.value)
