from typing import Any

import numpy as np
import pytest

pytest.importorskip("transformers")

from budget_envs.agents.models.tiny import TinyConfig, make_tiny
from budget_envs.agents.policies.lm_transcript import Piece, Transcript


@pytest.fixture(scope="module")
def chat() -> Any:
    shape = TinyConfig(hidden_size=8, num_layers=1, num_heads=1, vocab_size=280)
    return make_tiny(["Go Left. Right."], shape).chat


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def assistant(text: str) -> Any:
    return {"role": "assistant", "content": text}


def act(transcript: Transcript, messages: list[Any], text: str, chat: Any, ids=None) -> list[Any]:
    """Read what is new and answer it; return the messages with the answer."""
    unread = transcript.unread(messages, chat)
    ids = chat.action(text) if ids is None else ids
    piece = Piece(ids, len(messages) // 2, [-0.5] * len(ids), "stop")
    transcript.extend(unread, piece, text, is_closed=ids[-1] == chat.end_id)
    return [*messages, assistant(text)]


def all_ids(transcript: Transcript) -> list[int]:
    return transcript.trajectory().ids.tolist()


def test_a_conversation_is_the_whole_rendered_at_once(chat):
    transcript, messages = Transcript(), [user("Go.")]
    for text in ("Left", "", "Right"):
        messages = [*act(transcript, messages, text, chat), user("Next.")]
    assert all_ids(transcript) == chat.encode(messages[:-1]).ids.tolist()
    assert len(transcript) == len(all_ids(transcript))


def test_only_the_newest_message_is_to_be_read(chat):
    transcript = Transcript()
    messages = [*act(transcript, [user("Go.")], "Left", chat), user("Next.")]
    unread = transcript.unread(messages, chat)
    assert unread.num_kept == len(transcript)
    assert unread.ids == chat.append("Next.")


def test_an_action_keeps_the_tokens_that_were_sampled(chat):
    spelled = [*chat.first([user("L")])[4:4], *chat.action("L")[:-1], *chat.action("eft")]
    assert spelled != chat.action("Left")
    transcript = Transcript()
    messages = [*act(transcript, [user("Go.")], "Left", chat, spelled), user("Next.")]
    act(transcript, messages, "Right", chat)
    expected = [*chat.first([user("Go.")]), *spelled, *chat.append("Next."), *chat.action("Right")]
    assert all_ids(transcript) == expected


def test_a_cut_action_is_closed_by_tokens_that_are_not_its_own(chat):
    cut = chat.action("Left")[:-1]
    transcript = Transcript()
    messages = [*act(transcript, [user("Go.")], "Left", chat, cut), user("Next.")]
    act(transcript, messages, "Right", chat)
    trajectory = transcript.trajectory()
    actions = trajectory.ids[trajectory.is_action].tolist()
    assert actions == [*cut, *chat.action("Right")]
    assert trajectory.ids.tolist() == chat.encode([*messages, assistant("Right")]).ids.tolist()


def test_a_replaced_action_takes_the_place_of_the_sampled_one(chat):
    transcript = Transcript()
    act(transcript, [user("Go.")], "Left", chat)
    messages = [user("Go."), assistant("Right"), user("Next.")]
    unread = transcript.unread(messages, chat)
    assert unread.num_kept == len(chat.first([user("Go.")]))
    assert unread.ids == [*chat.action("Right"), *chat.append("Next.")]
    messages = act(transcript, messages, "Left", chat)
    trajectory = transcript.trajectory()
    assert trajectory.ids.tolist() == chat.encode(messages).ids.tolist()
    assert trajectory.ids[trajectory.is_action].tolist() == chat.action("Left")
    assert trajectory.finishes == ("replaced", "stop")


def test_asking_twice_changes_nothing(chat):
    transcript = Transcript()
    act(transcript, [user("Go.")], "Left", chat)
    messages = [user("Go."), assistant("Right"), user("Next.")]
    assert transcript.unread(messages, chat) == transcript.unread(messages, chat)
    assert transcript.trajectory().finishes == ("stop",)


def test_the_last_action_can_be_replaced_too(chat):
    transcript = Transcript()
    act(transcript, [user("Go.")], "Left", chat)
    transcript.close([user("Go."), assistant("Right"), user("Over.")], chat)
    trajectory = transcript.trajectory()
    assert not trajectory.is_action.any()
    assert trajectory.finishes == ("replaced",)
    assert trajectory.ids.tolist() == chat.encode([user("Go."), assistant("Right")]).ids.tolist()


def test_closing_changes_nothing_else(chat):
    transcript = Transcript()
    messages = act(transcript, [user("Go.")], "Left", chat)
    for ended in (messages, [*messages, user("Over.")], [user("Go.")]):
        transcript.close(ended, chat)
        assert transcript.trajectory().finishes == ("stop",)


def test_a_conversation_that_others_began_is_read_whole(chat):
    messages = [user("Go."), assistant("Left"), user("Next.")]
    transcript = Transcript()
    assert transcript.unread(messages, chat).ids == chat.first(messages)
    act(transcript, messages, "Right", chat)
    trajectory = transcript.trajectory()
    assert trajectory.ids[trajectory.is_action].tolist() == chat.action("Right")
    encoded = chat.encode([*messages, assistant("Right")])
    assert trajectory.turns.tolist() == encoded.turns.tolist()


def test_a_conversation_that_starts_anew_is_read_anew(chat):
    transcript = Transcript()
    messages = act(transcript, [user("Go.")], "Left", chat)
    act(transcript, [*messages, user("Next.")], "Left", chat)
    unread = transcript.unread([user("Other.")], chat)
    assert (unread.num_kept, unread.ids) == (0, chat.first([user("Other.")]))
    act(transcript, [user("Other.")], "Right", chat)
    assert all_ids(transcript) == chat.encode([user("Other."), assistant("Right")]).ids.tolist()


def test_arrays_have_the_promised_types_and_lengths(chat):
    transcript, messages = Transcript(), [user("Go.")]
    for text in ("Left", "Right"):
        messages = [*act(transcript, messages, text, chat), user("Next.")]
    trajectory = transcript.trajectory()
    encoded = chat.encode(messages[:-1])
    assert trajectory.is_action.tolist() == encoded.is_action.tolist()
    assert trajectory.turns.tolist() == encoded.turns.tolist()
    assert trajectory.logprobs.tolist() == [-0.5 * flag for flag in encoded.is_action]
    kinds = [array.dtype for array in (trajectory.ids, trajectory.is_action, trajectory.logprobs)]
    assert kinds == [np.int64, np.bool_, np.float32]
    assert len(trajectory) == len(trajectory.turns)
