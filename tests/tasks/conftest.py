"""Fixtures of the dataset tests: no network, no user cache, made-up datasets, real files."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from budget_envs.tasks import registry
from budget_envs.tasks.registry import DatasetInfo, parse_dataset

_DATA_VARIABLE = os.environ.get("BUDGET_ENVS_DATA")  # as the user set it, before any test


@pytest.fixture(autouse=True)
def isolated_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the user's folders nor the network take part in a test that does not ask for them."""
    for name in ("BUDGET_ENVS_DATA", "BUDGET_ENVS_HUB", "HF_ENDPOINT", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BUDGET_ENVS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("BUDGET_ENVS_OFFLINE", "1")


@pytest.fixture
def benchmark_data(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of real benchmark files, also named by ``BUDGET_ENVS_DATA`` during the test."""
    checkout = Path(__file__).resolve().parents[2]
    sibling = checkout.parent / "shared" / "data"
    folder = Path(_DATA_VARIABLE).expanduser() if _DATA_VARIABLE else sibling
    if not folder.is_dir():
        pytest.skip("no benchmark files: set BUDGET_ENVS_DATA to a folder that has them")
    monkeypatch.setenv("BUDGET_ENVS_DATA", str(folder))
    return folder


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable[..., DatasetInfo]:
    """Add a dataset to the registry for one test: ``register("tiny", files=[...], ...)``."""
    known = dict(registry._registry())
    monkeypatch.setattr(registry, "_registry", lambda: MappingProxyType(known))

    def add(name: str, **fields: Any) -> DatasetInfo:
        table = {
            "env": "none",
            "title": "a set for tests",
            "version": "1",
            "license": "none",
            "homepage": "http://localhost",
            "citation": "nobody",
            "adapter": "budget_envs.tasks.deepcoder:read",
            "folder": name,
            "options": {"source": name, "time_limit_s": 1.0},
        }
        known[name] = parse_dataset(name, {**table, **fields})
        return known[name]

    return add


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, Any], Path]:
    """Write a file under the test's folder: text or bytes as they are, anything else as JSON."""

    def write_file(name: str, content: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_encoded(name, content))
        return path

    return write_file


def _encoded(name: str, content: Any) -> bytes:
    if isinstance(content, bytes):
        return content
    if not isinstance(content, str) and ".jsonl" in name:
        content = "\n".join(json.dumps(row) for row in content)
    text = content if isinstance(content, str) else json.dumps(content)
    return gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()


@pytest.fixture
def pin() -> Callable[[Path], dict[str, Any]]:
    """The registry's entry for a file as it is now."""

    def describe(path: Path, role: str = "problems") -> dict[str, Any]:
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        return {"role": role, "name": path.name, "sha256": digest, "bytes": len(content)}

    return describe


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    """Ten problems in DeepCoder's Codeforces shape."""
    return [
        {
            "problem": f"Task number {number}: print the sum of the two numbers, plus {number}.",
            "tests": [
                {"input": f"{a} {a}\n", "output": f"{2 * a + number}\n"} for a in range(number + 3)
            ],
        }
        for number in range(10)
    ]


class HubServer:
    """A stand-in for a hub: serves ``files`` (path -> body) and counts what was asked for."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.url = ""

    def json(self, path: str, body: Any) -> None:
        """Serve a JSON answer."""
        self.files[path] = json.dumps(body).encode()


@pytest.fixture
def hub_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A hub on this machine, with the network switched on and all addresses pointing at it."""
    import threading
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    served = HubServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.requests.append(self.path)
            body = served.files.get(self.path)
            self.send_response(200 if body is not None else 404)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("BUDGET_ENVS_HUB", served.url)
    monkeypatch.setattr("budget_envs.tasks.hub._GITHUB_FILES", served.url)
    monkeypatch.delenv("BUDGET_ENVS_OFFLINE")
    yield served
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Install a made-up distribution that holds files and breaks when it is imported."""

    def add(dist: str, version: str, files: Mapping[str, bytes]) -> Path:
        site = tmp_path / "site"
        package = dist.replace("-", "_")
        content = {f"{package}/__init__.py": b"raise RuntimeError('imported')", **files}
        info = site / f"{package}-{version}.dist-info"
        info.mkdir(parents=True)
        for name, body in content.items():
            (site / name).parent.mkdir(parents=True, exist_ok=True)
            (site / name).write_bytes(body)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {dist}\nVersion: {version}\n")
        (info / "RECORD").write_text("".join(f"{name},,\n" for name in content))
        monkeypatch.syspath_prepend(str(site))
        return site

    return add
