"""How the API instances of a BFCL dialogue begin, made anew for every episode, and their keys.

Loading an instance copies its configuration and its class's defaults with `copy.deepcopy`, which
costs more than most dialogues. So an instance is loaded once for each dialogue, and copied from
bytes for each episode.
"""

from __future__ import annotations

import hashlib
import marshal
import random
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, Final

from budget_envs.errors import TaskDataInvalid
from budget_envs.tasks.bfcl_classes import ApiClass
from budget_envs.tool_calls.model import Dialogue

__all__ = ["Draws", "Scenario"]

_VERSION: Final = 2  # of marshal's format: the last in which equal values are always equal bytes
_CONSTANT: Final = "_api_description"
_LONG: Final = 64  # characters


class Draws:
    """A `random.Random` in a given state, made when it is first drawn from.

    Args:
        state: What ``getstate`` of the generator returned.
        key: What `key` returns as long as nothing is drawn.
    """

    def __init__(self, state: tuple[Any, ...], key: bytes) -> None:
        self._state = state
        self._random: random.Random | None = None
        self._key = key

    def __getattr__(self, name: str) -> Any:
        """Return a method of the generator, which may be about to be drawn from."""
        if name.startswith("_"):  # of the protocols of copying; a Random's methods have none
            raise AttributeError(name)
        self._key = b""
        if self._random is None:
            self._random = random.Random.__new__(random.Random)
            self._random.setstate(self._state)
        return getattr(self._random, name)

    def key(self) -> bytes:
        """Return bytes that are equal if and only if the next draws are."""
        if not self._key and self._random is not None:
            self._key = _digest(self._random.getstate())
        return self._key


def _digest(value: Any) -> bytes:
    return hashlib.blake2b(marshal.dumps(value, _VERSION), digest_size=16).digest()


class Scenario:
    """The beginning of a dialogue.

    Args:
        dialogue: The dialogue.
        classes: The API classes by name.

    Attributes:
        owners: Name of a function -> the class it belongs to; of equal names, the last class has
            it, as in the official runner.
        classes: The classes involved, in order.

    Raises:
        TaskDataInvalid: On first use of a class that cannot load its part of the configuration.
    """

    def __init__(self, dialogue: Dialogue, classes: Mapping[str, ApiClass]) -> None:
        names = dialogue.world["classes"]
        self.classes = {name: classes[name] for name in names}
        self.owners = {method: name for name in names for method in classes[name].methods}
        self._task_id = dialogue.task_id
        self._config = dialogue.world["initial_config"]
        self._long_context = dialogue.world["long_context"]
        self._templates: dict[str, _Template] = {}

    def fresh(self, name: str) -> Any:
        """Return an instance as it begins, shared with nobody."""
        return self._template(name).fresh()

    def untouched(self, name: str) -> Any:
        """Return an instance as it begins, shared by all episodes: to be read only."""
        return self._template(name).untouched

    def untouched_key(self, name: str) -> bytes:
        """Return the key of an instance as it begins."""
        return self._template(name).untouched_key

    def state(self, name: str, instance: Any) -> dict[str, Any]:
        """Return the public attributes of an instance, by ``"Class.attribute"``.

        They are what the official checker compares.
        """
        return self._template(name).state(instance)

    def key(self, name: str, instance: Any) -> bytes:
        """Return bytes that are equal if and only if two instances of the class behave alike."""
        return self._template(name).key(instance)

    def _template(self, name: str) -> _Template:
        if name not in self._templates:
            try:
                self._templates[name] = _Template(self._loader(name))
            except Exception as error:  # whatever the class makes of a file that was changed
                raise TaskDataInvalid(
                    f"{self._task_id}: {name} cannot begin as initial_config says: {error!r}."
                ) from error
        return self._templates[name]

    def _loader(self, name: str) -> Callable[[], Any]:
        """Return what loads an instance as the official runner does."""
        cls = self.classes[name].cls
        config = marshal.dumps(self._config.get(name, {}), _VERSION)

        def load() -> Any:
            instance = cls()
            if hasattr(instance, "_load_scenario"):  # the class for mathematics has no state
                instance._load_scenario(marshal.loads(config), long_context=self._long_context)
            return instance

        return load


class _Template:
    """How the instances of one class begin in one dialogue.

    Args:
        load: Loads an instance.

    Attributes:
        fresh: Makes an instance.
        untouched: One that is only read.
        untouched_key: Its key.
    """

    def __init__(self, load: Callable[[], Any]) -> None:
        loaded = load()
        values = vars(loaded)
        self._draws = [name for name in values if isinstance(values[name], random.Random)]
        self._sets = [name for name in values if isinstance(values[name], set)]
        self._directories = [name for name in values if hasattr(values[name], "contents")]
        special = {_CONSTANT, *self._draws, *self._sets, *self._directories}
        self._plain = _getter([name for name in values if name not in special])
        public = [name for name in values if not name.startswith("_")]
        self._public = _getter(public)
        self._parts = [f"{type(loaded).__name__}.{name}" for name in public]
        self.fresh = self._copier(loaded)
        self.untouched = self.fresh()
        self._long_texts = _long_texts([values[name] for name in self._directories])
        self.untouched_key = self.key(self.untouched)

    def _copier(self, loaded: Any) -> Callable[[], Any]:
        """Return what copies an instance of plain values, generators and a tree of directories."""
        cls: Any = type(loaded)
        values = vars(loaded)
        states = {name: values[name].getstate() for name in self._draws}
        keys = {name: _digest(state) for name, state in states.items()}
        special = {*self._draws, *self._directories}
        # This also separates it from what it shares with its module: long results are put into
        # every instance from one place, where one episode would charge the credit cards of others.
        content = marshal.dumps({k: v for k, v in values.items() if k not in special}, _VERSION)

        def copied() -> Any:
            twin = cls.__new__(cls)
            twin.__dict__.update(marshal.loads(content))
            for name, state in states.items():
                setattr(twin, name, Draws(state, keys[name]))
            if self._directories:  # the root, and the current directory, which begins there
                root = _copied(loaded.root, None)
                twin.__dict__.update(dict.fromkeys(self._directories, root))
            return twin

        return copied

    def state(self, instance: Any) -> dict[str, Any]:
        return dict(zip(self._parts, self._public(vars(instance)), strict=True))

    def key(self, instance: Any) -> bytes:
        values = vars(instance)
        found: list[Any] = [self._plain(values)]
        if self._sets:
            found += [sorted(values[name]) for name in self._sets]
        if self._draws:
            found += [values[name].key() for name in self._draws]
        if self._directories:
            found += _graph([values[name] for name in self._directories], self._long_texts)
        return _digest(found)


def _getter(names: list[str]) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    """Return what gets these values of a mapping, fast."""
    if len(names) < 2:
        return lambda values: tuple(values[name] for name in names)
    return itemgetter(*names)


def _copied(directory: Any, parent: Any) -> Any:
    """Return a copy of a tree of directories; texts are shared."""
    twin = object.__new__(type(directory))
    contents: dict[str, Any] = {}
    twin.__dict__.update(name=directory.name, parent=parent, contents=contents)
    for name, item in directory.contents.items():
        if hasattr(item, "contents"):
            contents[name] = _copied(item, twin)
        else:
            contents[name] = file = object.__new__(type(item))
            file.__dict__.update(vars(item))
    return twin


def _long_texts(roots: list[Any]) -> dict[str, bytes]:
    """Return the long texts in files -> their digests: what is long is there from the beginning."""
    waiting, found = list(roots), {}
    while waiting:
        item = waiting.pop()
        if hasattr(item, "contents"):
            waiting.extend(item.contents.values())
        elif isinstance(item.content, str) and len(item.content) > _LONG:
            found[item.content] = _digest(item.content)
    return found


def _graph(roots: list[Any], long_texts: Mapping[str, bytes]) -> list[Any]:
    """Return directories and all that they hold as plain values, equal if they behave alike.

    Copies share files and directories, and moved directories share what they hold, with the place
    they came from. So objects are numbered as they are met, and named by number.

    Args:
        roots: Directories.
        long_texts: Texts to be replaced by their digests.
    """
    objects: list[Any] = []
    numbers: dict[int, int] = {}

    def number(item: Any) -> int:
        known = numbers.setdefault(id(item), len(objects))
        if known == len(objects):
            objects.append(item)
        return known

    rows: list[Any] = [number(root) for root in roots]
    for item in objects:  # grows while it is walked through
        if type(item) is dict:
            rows.append([(name, number(inner)) for name, inner in item.items()])
            continue
        values = vars(item)
        contents = values.get("contents")
        if contents is None:
            text = values["content"]
            rows.append((values["name"], long_texts.get(text, text) if type(text) is str else text))
        else:
            parent = values["parent"]
            above = -1 if parent is None else number(parent)
            rows.append((values["name"], above, number(contents)))
    return rows
