"""Sandboxes with a shell, for an agent that works in many steps: create a sandbox, find it by id, and delete it."""
import asyncio

from cloche.compat.openmanus import SandboxManager, SandboxSettings


async def main():
    config = SandboxSettings(image="python:3.12-slim", memory_limit="512m", cpu_limit=0.5, timeout=300,
                             network_enabled=False)
    manager = SandboxManager(max_sandboxes=2)
    try:
        sandbox_id = await manager.create_sandbox(config)
        sandbox = await manager.get_sandbox(sandbox_id)
        print(await sandbox.run_command("python3 -c 'print(\"Hello from sandbox!\")'"))
        # Commands follow each other in one shell.
        await sandbox.run_command("mkdir project; cd project; name=world")
        print(await sandbox.run_command("echo \"Hello, $name!\"; pwd"))
        await manager.delete_sandbox(sandbox_id)
        print(manager.get_stats()["total_sandboxes"], "sandboxes are left")
    finally:
        await manager.cleanup()


asyncio.run(main())

# Prints:
#
#   Hello from sandbox!
#   Hello, world!
#   /workspace/project
#   0 sandboxes are left
