"""A chat-completions server on this machine that behaves as it is told."""

import contextlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WAIT_S = 20  # for what happens at once unless the test is about to fail


@dataclass
class Asked:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def last(self) -> str:
        return self.body["messages"][-1]["content"]


@dataclass
class Exchange:
    """One request, and the ways to deal with it."""

    server: Any
    asked: Asked
    _handler: Any

    def send(self, status=200, body=b"", content_type="application/json", **headers):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self._handler.send_response(status)
        self._handler.send_header("Content-Type", content_type)
        self._handler.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self._handler.send_header(name.replace("_", "-"), value)
        self._handler.end_headers()
        self._handler.wfile.write(body)

    def answer(self, text="Right", *, usage=(7, 2), finish_reason="stop", **message):
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text, **message},
            "finish_reason": finish_reason,
        }
        document = {"object": "chat.completion", "choices": [choice]}
        if usage is not None:
            document["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
        self.send(body=document)

    def fail(self, status, message="no", code=None, **headers):
        self.send(status, {"error": {"message": message, "code": code}}, **headers)

    def drop_in_mid_body(self):
        self._handler.send_response(200)
        self._handler.send_header("Content-Type", "application/json")
        self._handler.send_header("Content-Length", "1000")
        self._handler.end_headers()
        self._handler.wfile.write(b'{"choices": [')
        self._handler.wfile.flush()
        self._handler.close_connection = True

    def drip(self):
        """Send a byte now and then, for ever, which keeps every single read in time."""
        self._handler.send_response(200)
        self._handler.send_header("Content-Length", "1000000")
        self._handler.end_headers()
        while not self.server.closing.wait(0.02):
            try:
                self._handler.wfile.write(b" ")
            except OSError:  # nobody listens any more
                return

    def hang(self):
        self.server.closing.wait(WAIT_S)
        self._handler.close_connection = True


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128  # of connections that come at once; the kernel drops others


@dataclass
class FakeEndpoint:
    """The server: ``play`` deals with each request, ``asked`` remembers them all."""

    play: Callable[[Exchange], None] = Exchange.answer
    asked: list[Asked] = field(default_factory=list)
    most_at_once: int = 0
    num_connections: int = 0
    closing: threading.Event = field(default_factory=threading.Event)
    _now: int = 0
    _lock: Any = field(default_factory=threading.Lock)

    def __enter__(self):
        self._server = _Server(("127.0.0.1", 0), self._handler_class())
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        self._thread.start()
        return self

    def __exit__(self, *error):
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def script(self, *steps):
        """Play one step for each request, the last one again and again."""
        left = list(steps)

        def play(exchange):
            with self._lock:
                step = left.pop(0) if len(left) > 1 else left[0]
            step(exchange)

        self.play = play

    def _handler_class(self):
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # or each answer waits 40 ms for an acknowledgement
            timeout = 0.5  # an idle connection must not keep the server from closing

            def setup(self):
                super().setup()
                with server._lock:
                    server.num_connections += 1

            def handle(self):
                with contextlib.suppress(ConnectionResetError):  # the client gave up
                    super().handle()

            def do_POST(self):
                raw = self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}"
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked = Asked(self.command, self.path, headers, json.loads(raw))
                with server._lock:
                    server.asked.append(asked)
                    server._now += 1
                    server.most_at_once = max(server.most_at_once, server._now)
                try:
                    server.play(Exchange(server, asked, self))
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True
                finally:
                    with server._lock:
                        server._now -= 1

            def do_GET(self):
                self.do_POST()

            def log_message(self, *args):
                pass

        return Handler
