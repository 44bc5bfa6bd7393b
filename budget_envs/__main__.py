"""``python -m budget_envs`` is the command ``budget-envs``."""

import sys

from budget_envs.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
