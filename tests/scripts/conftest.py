"""What the tests of the scripts share."""
import pathlib
import tempfile

import pytest


@pytest.fixture
def tmp_path():
    """In place of pytest's own, which leaves its directories behind."""
    with tempfile.TemporaryDirectory(prefix="cloche-test-") as name:
        yield pathlib.Path(name)
