"""Gymnasium's episode statistics, where the recorder is inside a budget."""

from __future__ import annotations

import time
from typing import Any

from gymnasium.wrappers import RecordEpisodeStatistics

__all__ = ["record_episode"]


def record_episode(recorder: RecordEpisodeStatistics[Any, Any], info: dict[str, Any]) -> None:
    """Write the statistics of an episode whose end a recorder inside a budget cannot see.

    Args:
        recorder: The recorder, which has seen every step but not that the episode is over.
        info: The last step's info; gets the recorder's key unless it has it already.
    """
    if recorder._stats_key in info:
        return
    elapsed = round(time.perf_counter() - recorder.episode_start_time, 6)
    length, total = recorder.episode_lengths, recorder.episode_returns
    info[recorder._stats_key] = {"r": total, "l": length, "t": elapsed}
    recorder.time_queue.append(elapsed)
    recorder.return_queue.append(total)
    recorder.length_queue.append(length)
    recorder.episode_count += 1
    recorder.episode_start_time = time.perf_counter()
