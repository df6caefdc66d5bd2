"""A real server for the tests of each file, on every backend that this host has."""
import pathlib
import tempfile

import pytest
from support import need_backend, settings_of

import cloche


@pytest.fixture(scope="module", params=["oci", "docker"])
def server(request):
    need_backend(request.param, request.module.__name__)
    with cloche.start(**settings_of(request.param)) as started:
        started.backend = request.param
        yield started


@pytest.fixture
def tmp_path():
    """In place of pytest's own, which leaves its directories behind."""
    with tempfile.TemporaryDirectory(prefix="cloche-test-") as name:
        yield pathlib.Path(name)


@pytest.fixture
def client(server):
    with server.client() as made:
        yield made


@pytest.fixture
def sandbox(server):
    with server.sandbox() as made:
        yield made
