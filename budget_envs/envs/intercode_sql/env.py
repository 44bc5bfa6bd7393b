"""`InterCodeSQLEnv`: text-to-SQL by interaction."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, get_args

from budget_envs.envs.intercode_sql.actions import read_sql_action
from budget_envs.envs.intercode_sql.sources import SqlProblem, SqlSource, open_source
from budget_envs.envs.intercode_sql.text import (
    first_observation,
    no_action_observation,
    result_observation,
)
from budget_envs.errors import OptionError, did_you_mean
from budget_envs.sql.intercode_reward import intercode_reward
from budget_envs.sql.protocol import QueryResult, SqlEngine, SqlEngineError, SqlSession
from budget_envs.sql.results import GoldResult, agreement, equal, gold_result
from budget_envs.text_env import TASK_SPLITS, StepResult, TextEnv, Verdict

__all__ = ["InterCodeSQLEnv", "RewardKind"]

RewardKind = Literal["execution", "intercode"]
_EXAMPLES: Final = ("SHOW TABLES", "SELECT 1", "submit")
_REMEMBERED: Final = 2048  # gold results kept: those of all published tasks
_UNKNOWN: Final = QueryResult(error="no statement yet")


class GoldFailedError(Exception):
    """The gold query of a task does not run: nobody can be judged by it."""


class InterCodeSQLEnv(TextEnv[SqlProblem]):
    """Explore a database with SQL, and submit the result that answers a question.

    **Observation Space**
    Text. The first observation holds the question, later ones the newest result: column headers,
    rows in the order of the engine, and their number; cuts are marked. Errors are text. Whether a
    result is right is not said before the end.

    **Action Space**
    Text holding one SQL statement, ``submit`` or ``skip``, read by
    `budget_envs.envs.intercode_sql.read_sql_action`. Several statements in one action are refused
    by the engine, and none of them runs.

    **Starting State**
    A fresh copy of the task's database, and no result. Its clock stands still, in UTC: see
    `budget_envs.sql.sqlite_clock`.

    **Transitions**
    A statement replaces the newest result, also where it fails. Databases are read-only unless
    ``writable``; what is written ends with the episode. Statements that take too long, too much
    memory or reach out of the database are stopped or refused, as text.

    **Rewards**
    At ``submit``: ``"execution"`` pays 1 if the newest result equals the gold query's (as bags of
    rows; in order where the gold query orders, ties aside; numbers within 1e-6), else 0.
    ``"intercode"`` pays InterCode's reward, in [-1, 1]. A result is a success if the reward is 1.

    **Episode End**
    ``submit`` and ``skip`` terminate. Void, with reward NaN, if the engine or the gold query fails.

    **Budget**
    One turn is one action, ``submit`` included. Ids come with 10 turns.

    **Oracle**
    `budget_envs.oracles.sql.SqlOracle`: how far the result of a statement agrees with the gold
    result. Not exact: exploring has no value of its own.

    **Information**
    Beside what `TextEnv` promises: ``action_kind`` (``"sql"``, ``"submit"``, ``"skip"`` or ``""``),
    ``sql_error`` (bool) and ``num_rows`` (int, rows of the newest result).

    **Arguments**
    Args:
        dataset: ``"intercode_sql_synthetic"``, the embedded generator, or ``"intercode_sql"``.
        data_path: File or folder to read the dataset from, instead of the registry's sources.
        hardness: Levels to draw from: easy, medium, hard, extra.
        split: Draw tasks of ``"train"``, ``"validation"`` or ``"test"`` only.
        include_excluded: Also use tasks whose gold result is empty, or all zero or NULL.
        engine: ``"sqlite"``, or the URL of a MySQL or MariaDB server.
        writable: Let statements write.
        reward: See above.
        auto_submit: Check every result, as InterCode's "try again" harness does: the observation
            tells the reward, and reward 1 ends the episode. Published numbers use it.
        render_mode: ``"ansi"`` or ``"human"``.

    **Version History**
    * v0: first version.

    References:
        Yang et al., 2023, "InterCode", arXiv:2306.14898; Yu et al., 2018, "Spider",
        arXiv:1809.08887.
    """

    def __init__(
        self,
        *,
        dataset: str = "intercode_sql_synthetic",
        data_path: str | None = None,
        hardness: Sequence[str] = ("easy", "medium", "hard", "extra"),
        split: str | None = None,
        include_excluded: bool = False,
        engine: str = "sqlite",
        writable: bool = False,
        reward: RewardKind = "execution",
        auto_submit: bool = False,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(action_examples=_EXAMPLES, render_mode=render_mode)
        if split is not None and split not in TASK_SPLITS:
            raise OptionError(
                f"split must be one of {', '.join(TASK_SPLITS)}, got {split!r}."
                + did_you_mean(split, TASK_SPLITS)
            )
        if reward not in get_args(RewardKind):
            raise OptionError(
                f"reward must be one of {', '.join(get_args(RewardKind))}, got {reward!r}."
                + did_you_mean(reward, get_args(RewardKind))
            )
        for name, switch in (
            ("include_excluded", include_excluded),
            ("writable", writable),
            ("auto_submit", auto_submit),
        ):
            if not isinstance(switch, bool):
                raise OptionError(f"{name} is True or False, got {switch!r}.")
        self.source: SqlSource = open_source(
            dataset, data_path, hardness, split, include_excluded=include_excluded
        )
        self.engine: SqlEngine = self.source.engine(engine)
        self.writable = writable
        self.reward: RewardKind = reward
        self.auto_submit = auto_submit
        self.result = _UNKNOWN
        self._session: SqlSession | None = None
        self._saved = b""  # the database's state while no session is open
        self._digest: bytes | None = None  # of the database's state; None: to be found out
        self._golds: OrderedDict[str, GoldResult] = OrderedDict()

    # Tasks.

    def draw_task(self, key: int) -> SqlProblem:
        """Return the task that the key picks."""
        return self.source.draw(key)

    def load_task(self, task_id: str) -> SqlProblem:
        """Return the task of an id."""
        return self.source.load(task_id)

    def task_at(self, split: str, index: int) -> SqlProblem:
        """Return task ``index`` of a split."""
        return self.source.at(split, index)

    def name_task(self, task: SqlProblem) -> str:
        """Return the task's id."""
        return task.task_id

    # Turns.

    def begin(self, task: SqlProblem) -> tuple[str, dict[str, Any]]:
        """Show the question."""
        self._leave()
        self.result = _UNKNOWN
        text = first_observation(
            task.database, task.question, writable=self.writable, auto_submit=self.auto_submit
        )
        return text, {"action_kind": "", "sql_error": False, "num_rows": 0}

    def act(self, action: str) -> StepResult:
        """Run a statement, or judge the newest result."""
        read = read_sql_action(action)
        if read is None:
            return no_action_observation(), 0.0, None, {**self._info(""), "invalid_action": True}
        try:
            if read.kind == "skip":
                return self._end("Skipped.", 0.0, "fail", "skip")
            if read.kind == "submit":
                return self._judge("submit")
            self.result = self.session.execute(read.sql)
            self._digest = None
            self._database_digest()  # for the state's key; a failure has a verdict here
            if self.auto_submit:
                return self._judge("sql")
        except (SqlEngineError, GoldFailedError) as error:
            return self._end(f"The environment failed: {error}", 0.0, "void", read.kind)
        return result_observation(self.result), 0.0, None, self._info("sql")

    def _judge(self, kind: str) -> StepResult:
        score = self.score()
        if kind == "submit":
            text = "The result is right." if score == 1 else "The result is not right."
            return self._end(text, score, "pass" if score == 1 else "fail", kind)
        text = f"{result_observation(self.result)}\nReward: {score:g}"
        if score == 1:
            return self._end(text, score, "pass", kind)
        return text, 0.0, None, self._info(kind)

    def _end(self, text: str, reward: float, verdict: Verdict, kind: str) -> StepResult:
        info = self._info(kind)
        self._leave()
        return text, reward, verdict, info

    def _info(self, kind: str) -> dict[str, Any]:
        asked = self.result != _UNKNOWN
        return {
            "invalid_action": False,
            "action_kind": kind,
            "sql_error": asked and self.result.error is not None,
            "num_rows": self.result.total_rows,
        }

    # Judgements.

    def score(self) -> float:
        """Return the reward that submitting the newest result would earn.

        Raises:
            GoldFailedError: If the gold query does not run.
        """
        rows = _whole(self.result)
        if self.reward == "intercode":
            return intercode_reward(rows, self.gold().rows)
        return float(equal(rows, self.gold()))

    def agreement(self, sql: str | None = None) -> float:
        """Return how far a statement's result, or the newest one, agrees with the gold result.

        Args:
            sql: A statement, run without changing the episode; ``None`` for the newest result.
        """
        result = self.result if sql is None else self.try_out(sql)
        return agreement(_whole(result), self.gold())

    def try_out(self, sql: str) -> QueryResult:
        """Run a statement on the current state of the database without changing the episode."""
        if not self.writable:
            return self.session.execute(sql)
        with self.engine.open(self._problem.database, writable=True) as session:
            session.restore(self.session.snapshot())
            return session.execute(sql)

    def gold(self) -> GoldResult:
        """Return the gold result of the current task, on the untouched database.

        Raises:
            GoldFailedError: If the gold query does not run.
        """
        problem = self._problem
        known = self._golds.get(problem.task_id)
        if known is None:
            with self.engine.open(problem.database) as session:
                known = gold_result(
                    problem.gold,
                    lambda sql: _rows(session.execute(sql)),
                    dialect=self.engine.dialect,
                )
            self._golds[problem.task_id] = known
            if len(self._golds) > _REMEMBERED:
                self._golds.popitem(last=False)
        return known

    # State.

    @property
    def _problem(self) -> SqlProblem:
        return self.task  # type: ignore[return-value]  # set by reset

    @property
    def session(self) -> SqlSession:
        """The session on the episode's database, opened when it is first needed."""
        if self._session is None:
            self._session = self.engine.open(self._problem.database, writable=self.writable)
            if self._saved:
                self._session.restore(self._saved)
        return self._session

    def _leave(self) -> None:
        """Close the session; its database is gone."""
        if self._session is not None:
            self._session.close()
        self._session = None
        self._saved = b""
        self._digest = None

    def _database_digest(self) -> bytes:
        if self._session is None and not self._saved:
            return b""
        if self._digest is None:
            self._digest = self.session.digest()
        return self._digest

    def _database_state(self) -> bytes:
        return self._saved if self._session is None else self._session.snapshot()

    @property
    def state_key(self) -> str:
        """Hash of the task, what the database holds, hidden row numbers too, and the newest result.

        Raises:
            SqlEngineError: If the database has to be opened for it, and cannot be.
        """
        state = hashlib.blake2b(digest_size=8)
        state.update(self._problem.task_id.encode("utf-8"))
        state.update(self._database_digest())
        result = (self.result.columns, self.result.rows, self.result.error)
        state.update(repr(result).encode("utf-8", "surrogatepass"))
        return state.hexdigest()

    def save(self) -> Mapping[str, Any]:
        """Return what was written, and the newest result."""
        return {"result": self.result, "database": self._database_state()}

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over a state; the session is opened when it is needed."""
        self._leave()
        self.result = state["result"]
        self._saved = state["database"]

    def describe(self) -> str:
        """Return the question and the newest result."""
        return f"{self._problem.question}\n\n{result_observation(self.result)}"

    def close(self) -> None:
        """Close the session."""
        self._leave()
        super().close()

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what is opened, or found out, again where it is needed."""
        state = {**self.__dict__, "_session": None, "_saved": self._database_state()}
        return {**state, "_golds": OrderedDict()}

    def __deepcopy__(self, memo: dict[int, Any]) -> InterCodeSQLEnv:
        import copy

        twin = type(self).__new__(type(self))
        memo[id(self)] = twin
        twin.__dict__.update(copy.deepcopy(self.__getstate__(), memo))
        return twin


def _whole(result: QueryResult) -> Sequence[tuple[Any, ...]] | None:
    """Return the rows of a result; ``None`` for an error, no result set, or one cut by a limit."""
    if result.error is not None or not result.columns or result.truncated:
        return None
    return result.rows


def _rows(result: QueryResult) -> Sequence[tuple[Any, ...]]:
    rows = _whole(result)
    if rows is None:
        raise GoldFailedError(f"the gold query gives no result: {result.error or 'too many rows'}.")
    return rows
