"""The APIs: those that agents may train on, and those kept for tools never seen before."""

from typing import Final

from budget_envs.tasks.synthetic_tools.api import Api
from budget_envs.tasks.synthetic_tools.apis.calendar import CALENDAR
from budget_envs.tasks.synthetic_tools.apis.garden import GARDEN
from budget_envs.tasks.synthetic_tools.apis.house import HOUSE
from budget_envs.tasks.synthetic_tools.apis.ledger import LEDGER
from budget_envs.tasks.synthetic_tools.apis.mail import MAIL
from budget_envs.tasks.synthetic_tools.apis.music import MUSIC
from budget_envs.tasks.synthetic_tools.apis.notebook import NOTEBOOK
from budget_envs.tasks.synthetic_tools.apis.stock_room import STOCK_ROOM

__all__ = ["EASIEST", "HELD_OUT", "SEEN"]

SEEN: Final[tuple[Api, ...]] = (STOCK_ROOM, HOUSE, CALENDAR, NOTEBOOK, LEDGER, MUSIC)
"""APIs of the ordinary dialogues."""
HELD_OUT: Final[tuple[Api, ...]] = (MAIL, GARDEN)
"""APIs of the dialogues for out-of-distribution tests: no other dialogue has any of their tools."""
EASIEST: Final[tuple[Api, ...]] = (STOCK_ROOM, HOUSE, CALENDAR)
"""Those of `SEEN` that level 1 uses: few words."""
