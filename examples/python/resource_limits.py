"""Resource limits: what a sandbox may use, and the result of a program that exceeds them."""
import asyncio

from cloche.compat.openmanus import LocalSandboxClient, SandboxSettings, SandboxTimeoutError


async def main():
    config = SandboxSettings(image="python:3.12-slim", memory_limit="256m", cpu_limit=0.25, timeout=60)
    client = LocalSandboxClient()
    await client.create(config)
    try:
        await client.write_file("memory_test.py", "x = bytearray(1 << 30)")
        # The kernel kills the program; the shell that called it continues.
        print((await client.run_command("python3 memory_test.py; echo exit code $?")).splitlines()[-1])
        await client.run_command("python3 -c 'while True: pass'", timeout=1)
    except SandboxTimeoutError as error:
        print(error)
    finally:
        await client.cleanup()


asyncio.run(main())

# Prints:
#
#   exit code 137
#   Command execution timed out after 1 seconds
