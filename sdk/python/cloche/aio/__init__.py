"""The same as `cloche`, for asyncio: await the calls, and use `async with` instead of `with`.

>>> import asyncio
>>> import cloche.aio
>>> async def main():
...     async with cloche.aio.Client() as client, cloche.aio.Sandbox(client) as sandbox:
...         print((await sandbox.run("print(6 * 7)")).stdout)
>>> asyncio.run(main())                                                # doctest: +SKIP
42
"""
from .artifact import Artifact
from .client import Client
from .lease import Lease
from .run import Run
from .sandbox import Sandbox
from .stream import Stream
from .terminal import Terminal

__all__ = ["Artifact", "Client", "Lease", "Run", "Sandbox", "Stream", "Terminal"]
