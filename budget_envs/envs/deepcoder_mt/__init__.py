"""DeepCoder-MT: multi-turn code generation judged by unit tests."""

from budget_envs.envs.deepcoder_mt.env import DeepCoderMTEnv
from budget_envs.envs.deepcoder_mt.program import read_program, write_program

__all__ = ["DeepCoderMTEnv", "read_program", "write_program"]
