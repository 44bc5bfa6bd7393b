"""A server that lies, stalls or dies costs a lost run, never the judge."""

import socket
import struct
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.sandbox import Limits, SandboxLost, candidate, worker
from budget_envs.sandbox.candidate import LiveCandidate, execution_from_report, run_program_on
from budget_envs.sandbox.codec import decode, encode
from budget_envs.sandbox.protocol import CandidateError
from budget_envs.sandbox.worker import SocketStream, Worker

REPORT = {
    "exit_code": 0,
    "cause": "",
    "seconds": 0.1,
    "stdout": b"out",
    "stderr": b"err",
    "status": b"R",
    "truncated": [],
}


def framed(frame):
    body = frame if isinstance(frame, bytes) else encode(frame)
    return struct.pack("<I", len(body)) + body


class Server:
    """The far end of a worker's stream, played by a test."""

    def __init__(self, local=False):
        ours, self.theirs = socket.socketpair()
        self.worker = Worker(SocketStream(ours), local=local, end=lambda: None)

    def send(self, *frames):
        self.theirs.sendall(b"".join(map(framed, frames)))

    def received(self):
        frames, wire = [], self.theirs.recv(1 << 20)
        while wire:
            size = struct.unpack_from("<I", wire)[0]
            frames.append(decode(wire[4 : 4 + size]))
            wire = wire[4 + size :]
        return frames

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.theirs.close()
        self.worker.close()


def test_a_run_is_one_request_and_one_report():
    with Server() as server:
        server.send(("end", REPORT))
        execution = run_program_on(server.worker, "source", "input", Limits(time_s=2))
        ((kind, request),) = server.received()
    assert (kind, request["source"], request["stdin"]) == ("run", "source", b"input")
    assert request["calls"] is False
    assert (execution.status, execution.stdout, execution.stderr) == ("ok", "out", "err")


def test_nothing_that_the_judge_knows_is_in_a_request():
    with Server() as server:
        server.send(("end", REPORT))
        run_program_on(server.worker, "source", "input", Limits())
        ((_, request),) = server.received()
    assert set(request) == {
        *("source", "stdin", "calls", "wall_s", "time_s"),
        *("memory_bytes", "output_bytes", "file_bytes"),
    }


@given(st.binary(max_size=50))
def test_any_bytes_from_a_server_are_a_lost_run(junk):
    with Server() as server:
        server.theirs.sendall(junk)
        server.theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(SandboxLost):
            run_program_on(server.worker, "source", "", Limits(time_s=1))
        assert server.worker.is_lost


@pytest.mark.parametrize(
    "frame", [b"", b"N", b"?", (), 4, "end", struct.pack("<I", 1 << 31)], ids=repr
)
def test_a_frame_without_sense_is_a_lost_run(frame):
    with Server() as server:
        server.send(frame)
        with pytest.raises(SandboxLost):
            run_program_on(server.worker, "source", "", Limits(time_s=1))


@pytest.mark.parametrize(
    "report",
    [None, 4, {}, {**REPORT, "exit_code": "0"}, {**REPORT, "stdout": None}, {"status": b"R"}],
    ids=repr,
)
def test_a_report_without_sense_is_a_lost_run(report):
    with Server() as server:
        server.send(("end", report))
        with pytest.raises(SandboxLost):
            run_program_on(server.worker, "source", "", Limits(time_s=1))


def test_a_frame_that_is_too_long_is_not_waited_for():
    with Server() as server:
        server.theirs.sendall(b"\xff\xff\xff\xff")
        with pytest.raises(SandboxLost, match="4294967295 bytes"):
            run_program_on(server.worker, "source", "", Limits(time_s=1))


def test_a_silent_server_is_given_up(monkeypatch):
    monkeypatch.setattr(candidate, "GRACE_S", 0.1)
    with Server() as server:
        with pytest.raises(SandboxLost, match="does not answer"):
            run_program_on(server.worker, "source", "", Limits(time_s=0.1))
        assert server.worker.is_lost


def test_a_server_that_stops_in_the_middle_of_a_frame_is_given_up(monkeypatch):
    monkeypatch.setattr(worker, "GRACE_S", 0.1)
    with Server() as server:
        server.theirs.sendall(framed(("end", REPORT))[:-1])
        with pytest.raises(SandboxLost, match="TimeoutError"):
            run_program_on(server.worker, "source", "", Limits(time_s=1))


def test_a_server_that_cannot_confine_itself_says_why():
    with Server() as server:
        server.send(("failed", "no Landlock"))
        reader = threading.Thread(target=lambda: [server.theirs.recv(1 << 20) for _ in range(9)])
        reader.start()
        with pytest.raises(SandboxLost, match="no Landlock"):
            server.worker.configure({})
        server.worker.close()
        reader.join()


@pytest.mark.parametrize("frame", [("ready",), ("ready", 4), ("failed",), ("?",)], ids=repr)
def test_a_server_that_starts_with_nonsense_is_lost(frame):
    with Server() as server:
        server.send(frame)
        reader = threading.Thread(target=lambda: [server.theirs.recv(1 << 20) for _ in range(9)])
        reader.start()
        with pytest.raises(SandboxLost):
            server.worker.configure({})
        server.worker.close()
        reader.join()


@pytest.mark.parametrize(
    ("change", "status", "calls"),
    [
        ({}, "ok", False),
        ({"exit_code": 3}, "error", False),
        ({"exit_code": 1, "status": b"RM"}, "memory", False),
        ({"exit_code": 0, "status": b"RM"}, "ok", False),
        ({"exit_code": -11}, "crash", False),
        ({"exit_code": -9}, "crash", False),
        ({"exit_code": -24}, "timeout", False),
        ({"exit_code": -9, "cause": "timeout"}, "timeout", False),
        ({"exit_code": 0, "cause": "timeout"}, "timeout", False),
        ({"exit_code": -9, "cause": "output"}, "output", False),
        ({"exit_code": -9, "cause": "files"}, "output", False),
        ({"exit_code": 70, "status": b""}, "lost", False),
        ({"exit_code": 0, "status": b""}, "lost", False),
        ({}, "crash", True),
        ({"status": b"RD"}, "ok", True),
        ({"status": b"RD", "exit_code": 1}, "error", True),
    ],
)
def test_a_report_is_ok_only_for_a_clean_end(change, status, calls):
    assert execution_from_report({**REPORT, **change}, calls).status == status


def play(server, *replies, report=None):
    """Answer the requests of a relayed candidate in turn, each given its request's nonce."""

    def answer():
        for reply in replies:
            for frame in server.received():
                if frame[0] == "call":
                    body = reply(frame[1][4:12])
                    server.send(("reply", struct.pack("<I", len(body)) + body))
        server.received()
        server.send(("end", report or {**REPORT, "status": b"RD"}))

    thread = threading.Thread(target=answer)
    thread.start()
    return thread


def candidate_of(server):
    candidate = LiveCandidate(server.worker, "source", Limits(time_s=5), lambda _: None)
    assert server.received()[0][0] == "run"
    return candidate


def test_a_reply_carries_the_value():
    with Server() as server:
        candidate = candidate_of(server)
        thread = play(server, lambda nonce: nonce + encode(("value", [1, 2])))
        assert candidate.call("f") == [1, 2]
        assert candidate.finish().status == "ok"
        thread.join()


FORGED = {
    "another nonce": lambda nonce: b"\0" * 8 + encode(("value", 4)),
    "no nonce": lambda nonce: encode(("value", 4)),
    "no reply": lambda nonce: nonce,
    "junk": lambda nonce: nonce + b"junk",
    "not a reply": lambda nonce: nonce + encode(4),
    "unknown reply": lambda nonce: nonce + encode(("passed", True)),
    "wrong shape": lambda nonce: nonce + encode(("value", 4, 5)),
    "wrong types": lambda nonce: nonce + encode(("raised", 4, 5)),
    "reference out of range": lambda nonce: nonce + encode(("made", 1 << 64, "Pair")),
    "negative reference": lambda nonce: nonce + encode(("made", -1, "Pair")),
    "reference as a value": lambda nonce: nonce + b"t\2\0\0\0s\5\0\0\0valueR" + b"\0" * 8,
}


@pytest.mark.parametrize("how", FORGED)
def test_a_forged_reply_ends_the_candidate(how):
    with Server() as server:
        candidate = candidate_of(server)
        thread = play(server, FORGED[how])
        with pytest.raises(CandidateError, match="forged"):
            candidate.call("f")
        assert candidate.finish().status == "crash"
        thread.join()


@given(st.binary(max_size=40))
def test_any_reply_is_a_value_or_an_error(junk):
    with Server() as server:
        candidate = candidate_of(server)
        thread = play(server, lambda nonce: nonce + junk)
        with pytest.raises(CandidateError):
            candidate.call("f")
        assert candidate.finish().status == "crash"
        thread.join()


def test_a_candidate_that_hung_up_has_not_ended_well_whatever_it_says_of_itself():
    with Server() as server:
        candidate = candidate_of(server)

        def hang_up():
            server.received()
            server.send(("reply", b""))
            server.received()
            server.send(("end", {**REPORT, "status": b"RD"}))

        thread = threading.Thread(target=hang_up)
        thread.start()
        with pytest.raises(CandidateError):
            candidate.call("f")
        assert candidate.finish().status == "crash"
        thread.join()


def test_an_answer_to_an_earlier_call_is_not_taken_for_the_next():
    with Server() as server:
        candidate = candidate_of(server)
        seen = []

        def first(nonce):
            seen.append(nonce)
            return nonce + encode(("value", 1))

        thread = play(server, first, lambda _: seen[0] + encode(("value", 1)))
        assert candidate.call("f") == 1
        with pytest.raises(CandidateError, match="does not belong to this call"):
            candidate.call("f")
        thread.join()


def test_a_call_waits_no_longer_than_the_time_that_is_left():
    with Server() as server:
        candidate = LiveCandidate(server.worker, "", Limits(time_s=0.2), lambda _: None)
        thread = threading.Thread(target=lambda: (time.sleep(0.4), server.send(("end", REPORT))))
        thread.start()
        with pytest.raises(CandidateError, match="out of time") as caught:
            candidate.call("f")
        assert caught.value.status == "timeout"
        assert [frame[0] for frame in server.received()] == ["run", "call", "stop"]
        thread.join()


def after_a_run(server):
    server.send(("end", REPORT))
    run_program_on(server.worker, "source", "", Limits(time_s=1))
    return server.worker


def test_a_worker_is_idle_once_its_server_has_tidied_up():
    with Server() as server:
        it = after_a_run(server)
        server.send(("idle",))
        assert it.becomes_idle()
        assert it.becomes_idle()
        assert not it.is_lost


@pytest.mark.parametrize("frames", [[("end", REPORT)], [("idle",), ("idle",)], [b"?"], [()]])
def test_a_worker_whose_server_says_anything_else_is_not_idle(frames):
    with Server() as server:
        it = after_a_run(server)
        server.send(*frames)
        assert not it.becomes_idle()


@pytest.mark.parametrize("before", [[], [("idle",)]])
def test_a_worker_whose_server_is_gone_is_not_idle(before):
    with Server() as server:
        it = after_a_run(server)
        server.send(*before)
        server.theirs.close()
        assert not it.becomes_idle()


def test_a_worker_whose_server_does_not_tidy_up_is_not_idle(monkeypatch):
    monkeypatch.setattr(worker, "GRACE_S", 0.1)
    with Server() as server:
        assert not after_a_run(server).becomes_idle()
