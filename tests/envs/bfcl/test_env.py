import copy
import pickle

import gymnasium as gym
import pytest

import budget_envs  # noqa: F401  # registers the ids
from budget_envs.envs.bfcl import BFCLEnv
from budget_envs.envs.tool_dialogue import minimal_generations
from budget_envs.errors import DependencyNotInstalled, OptionError, TaskDataUnavailable
from budget_envs.tasks.bfcl import CATEGORIES, LATE_FUNCTIONS
from budget_envs.tool_calls.formats import FORMATS
from budget_envs.tool_calls.model import Call

every_category = pytest.mark.parametrize("category", CATEGORIES)
every_format = pytest.mark.parametrize("form", FORMATS)


def truth(dialogue):
    return [list(turn.calls) for turn in dialogue.turns]


def solved(env, play, dialogues, change=lambda calls: calls, **how):
    return sum(
        play(env, each.task_id, change(truth(each)), **how)[1] == 1 for each in dialogues(env)
    )


@every_category
@every_format
def test_the_ground_truth_of_every_dialogue_succeeds(make_env, play, dialogues, category, form):
    env = make_env(category=category, format=form)
    assert solved(env, play, dialogues) == 200


@every_category
def test_one_call_a_message_succeeds_too_and_strictly(make_env, play, dialogues, category):
    env = make_env(category=category, strict=True)
    assert solved(env, play, dialogues, batched=False) == 200


def test_without_the_last_call_nothing_succeeds(make_env, play, dialogues):
    def shortened(calls):
        next(each for each in reversed(calls) if each).pop()
        return calls

    assert solved(make_env(), play, dialogues, shortened) == 0


@every_category
def test_without_calls_nothing_succeeds(make_env, play, dialogues, category):
    env = make_env(category=category)
    assert solved(env, play, dialogues, lambda calls: [[] for _ in calls]) == 0


@pytest.mark.parametrize(
    ("category", "batched", "shares"),
    [
        ("base", True, [0.46, 0.72, 0.94, 0.99, 1]),
        ("base", False, [0.16, 0.38, 0.66, 0.85, 1]),
        ("miss_func", True, [0.22, 0.46, 0.72, 0.94, 1]),
        ("miss_func", False, [0.11, 0.26, 0.49, 0.77, 0.98]),
        ("miss_param", True, [0.22, 0.46, 0.72, 0.94, 1]),
        ("miss_param", False, [0.11, 0.26, 0.49, 0.77, 0.98]),
        ("long_context", True, [0.46, 0.72, 0.94, 0.99, 1]),
        ("long_context", False, [0.16, 0.37, 0.65, 0.84, 0.98]),
    ],
)
def test_the_share_of_dialogues_that_a_budget_allows(
    make_env, dialogues, category, batched, shares
):
    """Known values of the structural bound within 6, 8, 10, 12 and 15 generations."""
    fewest = [
        minimal_generations(each, batched=batched)
        for each in dialogues(make_env(category=category))
    ]
    found = [sum(n <= turns for n in fewest) / 200 for turns in (6, 8, 10, 12, 15)]
    assert found == pytest.approx(shares, abs=0.0051)


def test_the_fewest_generations_are_what_the_ground_truth_takes(make_env, play, dialogues):
    for category in CATEGORIES:
        env = make_env(category=category)
        for each in dialogues(env)[::10]:
            for batched in (True, False):
                info = play(env, each.task_id, truth(each), batched=batched)[4]
                assert info["turn"] == minimal_generations(each, batched=batched)


# What distinguishes the categories.


def test_a_missing_function_is_announced_by_the_fixed_sentence(make_env, dialogues):
    env = make_env(category="miss_func")
    for dialogue in dialogues(env)[::20]:
        first, _ = env.reset(options={"task": dialogue.task_id})
        late = next(i for i, turn in enumerate(dialogue.turns) if turn.arrivals)
        said = first
        for turn in range(late + 1):
            for name in dialogue.turns[late].arrivals:
                assert (f'"name": "{name}"' in said) == (turn == late)
            if turn < late:
                said = env.step("I cannot do that yet.")[0]
        assert said.endswith(LATE_FUNCTIONS)


def test_a_late_function_can_be_called_early_as_in_the_official_runner(make_env, dialogues):
    def early(strict):
        env = make_env(category="miss_func", strict=strict)
        dialogue = dialogues(env)[0]
        late = next(name for turn in dialogue.turns for name in turn.arrivals)
        env.reset(options={"task": dialogue.task_id})
        return env.step(env.format.render_calls([Call(late, {"file_name": "x"})]))

    assert early(strict=False)[4]["calls"] == 1
    text, *_, info = early(strict=True)
    assert info["calls"] == 0
    assert "no tool of this name" in text


def test_long_context_gives_longer_results(make_env, dialogues):
    lengths = {}
    for category in ("base", "long_context"):
        env = make_env(category=category)
        lengths[category] = 0
        for number in range(0, 200, 10):
            env.reset(options={"task": f"multi_turn_{category}_{number}"})
            calls = env.task.turns[0].calls
            lengths[category] += len(env.step(env.format.render_calls(calls))[0])
    assert lengths["long_context"] > 5 * lengths["base"]


# Episodes.


def test_the_same_id_reset_twice_starts_identical(make_env, play, dialogues):
    env = make_env()
    for dialogue in dialogues(env)[::9]:
        task = {"task": dialogue.task_id}
        first = env.reset(seed=1, options=task)
        play(env, dialogue.task_id, truth(dialogue))
        assert env.reset(seed=1, options=task) == first


def test_eight_rollouts_of_one_id_are_independent(make_env, dialogues):
    source = make_env()
    for dialogue in dialogues(source)[::25]:
        rollouts = [copy.deepcopy(source) for _ in range(8)]
        messages = [
            message
            for turn in dialogue.turns
            for message in [*(source.format.render_calls([call]) for call in turn.calls), "Done."]
        ]
        for env in rollouts:
            env.reset(options={"task": dialogue.task_id})
        for message in messages:  # interleaved; every second rollout does nothing but talk
            steps = [
                env.step(message if place % 2 else "Hm.")
                for place, env in enumerate(rollouts)
                if place % 2 or not env.episode.is_over
            ]
        results = [env.episode.verdicts.count("fail") for env in rollouts]
        assert results[1::2] == [0] * 4
        assert min(results[::2]) > 0
        assert len({repr(step) for step in steps if step[2]}) <= 2


def test_snapshots_and_pickles_go_on_alike_in_the_middle_of_any_dialogue(make_env, dialogues):
    for category in CATEGORIES:
        env = make_env(category=category)
        for dialogue in dialogues(env)[::23]:
            messages = [
                message
                for turn in dialogue.turns
                for message in [*(env.format.render_calls([call]) for call in turn.calls), "Done."]
            ]
            env.reset(options={"task": dialogue.task_id})
            half = len(messages) // 2
            for message in messages[:half]:
                env.step(message)
            saved = pickle.loads(pickle.dumps(env.snapshot()))
            twin = pickle.loads(pickle.dumps(env))
            rest = [env.step(message) for message in messages[half:]]
            assert [twin.step(message) for message in messages[half:]] == rest
            env.restore(saved)
            assert [env.step(message) for message in messages[half:]] == rest
            assert rest[-1][1] == 1.0


INJECTIONS = [
    "__import__('os').system('touch {path}')",
    "open('{path}', 'w')",
    "ls(a=__import__('os').system('touch {path}'))",
    "ls(a=[open('{path}', 'w') for _ in (1,)])",
    "ls.__globals__['__builtins__']['open']('{path}', 'w')",
    "echo(content=cat(file_name='x'))",
    "(lambda: open('{path}', 'w'))()",
    "eval(\"open('{path}', 'w')\")",
    "_load_scenario(scenario={{}})",
    "ls(**{{'a': True}})",
    "ls(*[True])",
]


def injected(form, source):
    """Messages that hold the source as a call, as a name, and as names and values of arguments."""
    name = source.partition("(")[0]
    if form == "bracket":
        return [f"[{source}]", f"[ls(a={source})]", f"[{name}(a=True)]", f"[ls(), {source}]"]
    write = FORMATS[form].render_calls
    calls = [Call(source, {}), Call(name, {"a": source}), Call("ls", {source: source})]
    return [source, *(write([call]) for call in calls)]


@every_format
@pytest.mark.parametrize("source", INJECTIONS)
def test_code_is_refused_as_text(make_env, tmp_path, form, source):
    env = make_env(format=form)
    target = tmp_path / "made"
    source = source.format(path=target)
    for message in injected(form, source):
        env.reset(options={"task": "multi_turn_base_0"})
        before = env.episode.world.key()
        text, reward, *_ = env.step(message)
        assert isinstance(text, str)
        assert reward == 0
        assert not target.exists()
        assert env.episode.world.key() == before


def test_arguments_that_look_like_code_arrive_verbatim(make_env):
    env = make_env()
    env.reset(options={"task": "multi_turn_base_0"})
    text = "ls() __import__('os')"
    said = env.step(env.format.render_calls([Call("echo", {"content": text})]))[0]
    assert text in said


# Settings.


def test_several_categories_are_one_set_of_tasks(make_env):
    env = make_env(category=["base", "miss_param"])
    names = [env.task_at("train", index).task_id for index in (0, 89, 90, 179)]
    assert [name.rpartition("_")[0] for name in names] == [
        *["multi_turn_base"] * 2,
        *["multi_turn_miss_param"] * 2,
    ]
    with pytest.raises(OptionError, match="180"):
        env.task_at("train", 180)
    assert {env.draw_task(key * 7**20).category for key in range(40)} == {"base", "miss_param"}


def test_a_split_is_drawn_from_alone(make_env):
    env = make_env(split="validation")
    listed = {env.task_at("validation", index).task_id for index in range(10)}
    assert {env.draw_task(key * 3**38).task_id for key in range(300)} == listed


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"category": "bas"}, "Did you mean 'base'"),
        ({"category": []}, "one or more"),
        ({"category": ["base", "base"]}, "each once"),
        ({"category": 3}, "a list of names, got 3"),
        ({"category": {"base", "miss_func"}}, "a list of names"),
        ({"split": "dev"}, "train, validation, test"),
        ({"format": "xml"}, "hermes"),
    ],
)
def test_unknown_settings_are_refused(settings, match):
    with pytest.raises(OptionError, match=match):
        BFCLEnv(**settings)


def test_an_unknown_task_is_refused_with_the_nearest(make_env):
    with pytest.raises(OptionError, match="Did you mean 'multi_turn_base_1"):
        make_env().reset(options={"task": "multi_turn_bas_1"})


def test_absent_files_come_with_the_command_that_brings_them(monkeypatch):
    from importlib import metadata

    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr("budget_envs.tasks.sources.metadata.distribution", missing)
    with pytest.raises(TaskDataUnavailable, match="pip install --no-deps bfcl-eval=="):
        gym.make("budget_envs/BFCL-v0")


def test_absent_mpmath_comes_with_the_command_that_brings_it(make_env, monkeypatch):
    import sys

    make_env()
    monkeypatch.setitem(sys.modules, "mpmath", None)
    with pytest.raises(DependencyNotInstalled, match=r"budget-envs\[bfcl\]"):
        BFCLEnv()


def test_data_may_come_from_a_folder(make_env, tmp_path):
    from budget_envs.tasks import dataset, locate

    make_env()
    names = {info.role: info.name for info in dataset("bfcl_base").files}
    for located in locate("bfcl_base"):
        target = tmp_path / names[located.role]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(located.path.read_bytes())
    env = BFCLEnv(data_path=str(tmp_path))
    assert env.reset(seed=3)[0] == make_env().reset(seed=3)[0]
