"""Hand-written messages of each state in each format, and the counts that go with them."""

from __future__ import annotations

import pytest

from budget_envs.tool_calls.formats import by_name
from budget_envs.tool_calls.model import Call
from budget_envs.tool_calls.output_state import Output, classify

LS = '{"name": "ls", "arguments": {}}'
BLOCK = f"<tool_call>\n{LS}\n</tool_call>"
FUNCTION = '{"function": {"name": "ls", "arguments": "{}"}}'

HERMES = [
    ("healthy_call", BLOCK),
    ("healthy_call", f"<tool_call>{LS}</tool_call>"),
    ("healthy_call", f"Let me look.\n{BLOCK}\n{BLOCK}<|im_end|>"),
    ("healthy_call", f"<think>\n\n</think>\n\n{BLOCK}"),
    ("healthy_text", "Done."),
    ("healthy_text", "Done.<|im_end|>\n"),
    ("healthy_text", "<think>\nI was asked to <tool_call>.\n</think>\nDone."),
    ("healthy_text", "a < b and [f(a=1)] are no tags here"),
    ("healthy_text", LS),
    ("polluted", f"<tool_call>\n{LS}"),
    ("polluted", f"{LS}\n</tool_call>"),
    ("polluted", f"<tool_call>{BLOCK}"),
    ("polluted", f"{BLOCK}</tool_call>"),
    ("polluted", '<tool_call>{"name": "f", "arguments": {"a": "<tool_call>"}}</tool_call>'),
    ("polluted", '<tool_call>{"name": "f", "arguments": {"a": "</tool_call>"}}</tool_call>'),
    ("polluted", f"{BLOCK} and then tool_call>"),
    ("polluted", f"{BLOCK}<tool_response>x</tool_response>"),
    ("polluted", "I shall use a <tool_call> for this, if that is fine"),
    ("polluted", "The list is there, see </tool_response> above"),
    ("polluted", "<|im_start|>user\nWhat is this?"),
    ("polluted", "One thing, and then <|im_end|> another thing"),
    ("polluted", "<think> I never stop thinking about this"),
    ("polluted", "Thoughts without a beginning</think> and an answer"),
    ("polluted", "<tool_call>{'name': 'ls', 'arguments': {}}</tool_call>"),
    ("polluted", '<tool_call>{"name": "ls"}</tool_call>'),
    ("polluted", '<tool_call>{"name": "ls", "arguments": []}</tool_call>'),
    ("polluted", '<tool_call>{"name": 1, "arguments": {}}</tool_call>'),
    ("polluted", '<tool_call>{"name": "ls", "arguments": {}, "id": 1}</tool_call>'),
    ("polluted", f"<tool_call>[{LS}]</tool_call>"),
    ("polluted", f"<tool_call>{LS}{LS}</tool_call>"),
    ("polluted", f"{BLOCK}<tool_call></tool_call>"),
    ("collapsed", "<tool_call><|im_end|>"),
    ("collapsed", "<tool_call>"),
    ("collapsed", "<tool_call></tool_call>"),
    ("collapsed", "<tool_call>{}</tool_call>"),
    ("collapsed", "<tool_call>\nls -l\n</tool_call>"),
    ("collapsed", "</tool_call>\n\n"),
    ("collapsed", ""),
    ("collapsed", " \n"),
    ("collapsed", "<|im_end|>"),
    ("collapsed", "<think>\n\n</think>\n\n"),
    ("collapsed", "<think>x</think><|im_end|>"),
    ("collapsed", "<tool_call>" * 10 + "one two three four five six"),
    ("collapsed", "one two three four<tool_call>"),
    ("polluted", "one two three four five<tool_call>"),
    ("polluted", "<tool_call>" * 5 + "one two three four five six"),
    ("collapsed", "<tool_call>" * 6 + "one two three four five six"),
]
BRACKET = [
    ("healthy_call", "[ls()]"),
    ("healthy_call", "[cd('x'), mv(a='y', b=[1, 2])]"),
    ("healthy_call", " [ ls ( ) , ]\n<|im_end|>"),
    ("healthy_call", "```python\n[ls()]\n```"),
    ("healthy_call", "```\n[ls()]\n```"),
    ("healthy_call", "```[ls()]```"),
    ("healthy_call", "`[ls()]`"),
    ("healthy_call", "<think>\n\n</think>\n\n[ls()]"),
    ("healthy_call", "[echo(content='</tool_call> [f(a=1)] )]')]"),
    ("healthy_text", "Done."),
    ("healthy_text", "Files: [1] a, [2] b (see above)."),
    ("healthy_text", "[1, 2]"),
    ("healthy_text", "The call ls() lists files"),
    ("healthy_text", "ls(files)"),
    ("healthy_text", BLOCK.replace("<", "").replace(">", "")),
    ("polluted", "ls()"),
    ("polluted", "cd('x'), ls()"),
    ("polluted", "[cd(folder='x')"),
    ("polluted", "cd(folder='x')]"),
    ("polluted", "I call [ls()] now"),
    ("polluted", "[ls()] is what I call"),
    ("polluted", "```python\n[ls()]\n```\nThat was it."),
    ("polluted", "[cd(folder=x)]"),
    ("polluted", "[cd(folder='x'), 5]"),
    ("polluted", "[cd(folder='x'] and so on, and so on )]"),
    ("polluted", "[cd(folder='x')] + [ls()]"),
    ("polluted", "[ls(a) for a in 'abc']"),
    ("polluted", "What now?<|im_start|>"),
    ("collapsed", ""),
    ("collapsed", "```\n```"),
    ("collapsed", "[]"),
    ("collapsed", "[[[["),
    ("collapsed", "] ] ]<|im_end|>"),
    ("collapsed", "[ls("),
    ("collapsed", "[ls(a)]"),
    ("collapsed", "[ls(" + "[" * 50),
]
OPENAI = [
    ("healthy_call", f'{{"tool_calls": [{FUNCTION}]}}'),
    ("healthy_call", f'{{"role": "assistant", "content": null, "tool_calls": [{FUNCTION}]}}'),
    ("healthy_call", f'```json\n{{"content": "So.", "tool_calls": [{FUNCTION}]}}\n```'),
    ("healthy_call", f'<think>x</think>{{"tool_calls": [{FUNCTION}, {FUNCTION}]}}<|im_end|>'),
    ("healthy_text", "Done."),
    ("healthy_text", '{"answer": 42}'),
    ("healthy_text", "My tool_calls have arguments"),
    ("polluted", f'{{"tool_calls": [{FUNCTION}]'),
    ("polluted", f'So: {{"tool_calls": [{FUNCTION}]}}'),
    ("polluted", LS),
    ("polluted", f'{{"tool_calls": {FUNCTION}}}'),
    ("polluted", '{"tool_calls": [{"name": "ls", "arguments": "{}"}]}'),
    ("polluted", '{"tool_calls": [{"function": {"name": "ls", "arguments": {}}}]}'),
    ("polluted", '{"tool_calls": [{"function": {"name": "ls", "arguments": "[]"}}]}'),
    ("polluted", '{"tool_calls": [{"function": {"name": "ls", "arguments": "{x}"}}]}'),
    ("polluted", '{"tool_calls": [{"function": {"name": "ls", "arguments": "{}", "x": 1}}]}'),
    ("polluted", f'{{"tool_calls": [{FUNCTION[:-1]}, "type": "tool"}}]}}'),
    ("polluted", f'{{"tool_calls": [{FUNCTION[:-1]}, "id": 1}}]}}'),
    ("polluted", f'{{"tool_calls": [{FUNCTION[:-1]}, "x": 1}}]}}'),
    ("polluted", f'{{"role": "user", "tool_calls": [{FUNCTION}]}}'),
    ("polluted", f'{{"content": 1, "tool_calls": [{FUNCTION}]}}'),
    ("polluted", f'{{"thought": "x", "tool_calls": [{FUNCTION}]}}'),
    ("polluted", '{"role": "assistant", "content": "Done.", "tool_calls": []}'),
    ("collapsed", '{"tool_calls": []}'),
    ("collapsed", '{"tool_calls": [{}]}'),
    ("collapsed", '{"tool_calls"'),
    ("collapsed", '"tool_calls"' * 9 + " a b c d e"),
    ("collapsed", "{}"),
    ("collapsed", "{[{"),
    ("collapsed", "```json\n```"),
    ("collapsed", ""),
]
CASES = [
    (name, state, message)
    for name, cases in (("hermes", HERMES), ("bracket", BRACKET), ("openai", OPENAI))
    for state, message in cases
]


@pytest.mark.parametrize(("name", "state", "message"), CASES)
def test_the_state_of_a_message(name: str, state: str, message: str) -> None:
    assert by_name(name).parse(message).state == state


@pytest.mark.parametrize("name", ["hermes", "bracket", "openai"])
def test_every_state_has_examples(name: str) -> None:
    states = {state for form, state, _ in CASES if form == name}
    assert states == {"healthy_call", "healthy_text", "polluted", "collapsed"}


@pytest.mark.parametrize(
    ("name", "message", "opens", "closes", "calls", "errors"),
    [
        ("hermes", f"{BLOCK}{BLOCK}", 2, 2, 2, 0),
        ("hermes", "<tool_call><|im_end|>", 1, 0, 0, 0),
        ("hermes", "<tool_call>{}</tool_call>", 1, 1, 0, 1),
        ("hermes", f"<tool_call>{BLOCK}</tool_call>", 2, 2, 0, 1),
        ("hermes", f"x</tool_call>{BLOCK}<tool_call>", 2, 2, 1, 0),
        ("hermes", "Done.", 0, 0, 0, 0),
        ("bracket", "[f(), g()]", 1, 1, 2, 0),
        ("bracket", "[f(), g(x)]", 1, 1, 1, 1),
        ("bracket", "[f()", 1, 0, 1, 0),
        ("bracket", "f()]", 0, 1, 1, 0),
        ("bracket", "[f(] [g(", 2, 0, 0, 0),
        ("bracket", "Done.", 0, 0, 0, 0),
        ("openai", f'{{"tool_calls": [{FUNCTION}, {FUNCTION}]}}', 1, 1, 2, 0),
        ("openai", f'{{"tool_calls": [{FUNCTION}, 1]}}', 1, 1, 1, 1),
        ("openai", '{"tool_calls": [', 1, 0, 0, 0),
        ("openai", '{"tool_calls": x}', 1, 1, 0, 1),
        ("openai", "Done.", 0, 0, 0, 0),
    ],
)
def test_the_counts_that_training_logs(
    name: str, message: str, opens: int, closes: int, calls: int, errors: int
) -> None:
    output = by_name(name).parse(message)
    counts = (output.opens, output.closes, len(output.calls), len(output.errors))
    assert counts == (opens, closes, calls, errors)


def test_malformed_blocks_keep_their_places() -> None:
    message = f"<tool_call>1</tool_call>{BLOCK}<tool_call>[</tool_call>"
    output = by_name("hermes").parse(message)
    assert output.items[1] == Call("ls")
    assert [getattr(item, "text", None) for item in output.items] == ["1", None, "["]
    assert output.errors == (
        'Expected {"name": <text>, "arguments": <object>} between <tool_call> and </tool_call>; '
        "got '1'.",
        'Expected {"name": <text>, "arguments": <object>} between <tool_call> and </tool_call>; '
        "got a text that is not valid JSON: '['.",
    )


def test_text_around_blocks_is_kept_apart() -> None:
    output = by_name("hermes").parse(f"<think>a</think> b \n{BLOCK} c <|im_end|>")
    assert output == Output("healthy_call", (Call("ls"),), "b\nc", 1, 1)


def test_a_block_that_joins_two_halves_of_a_tag_does_not_make_one() -> None:
    assert "<tool_call>" not in by_name("hermes").parse(f"<tool_{BLOCK}call>").text


@pytest.mark.parametrize(
    ("body", "state"),
    [("ab cd ef gh", "polluted"), ("ab # cd", "collapsed"), ("# # a b c d e", "polluted")],
)
def test_control_tokens_decide_on_a_collapse(body: str, state: str) -> None:
    read = classify(body, healthy_call=False, has_fragment=True, controls=("#",))
    assert read == state
