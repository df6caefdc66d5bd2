"""What the cases of the contract have in common."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from waiting import eventually  # noqa: E402

__all__ = ["NO_SESSION", "SESSION", "eventually"]

SESSION = {"tenant": "default", "session": "s1"}
NO_SESSION = {"tenant": "default", "session": "absent"}
