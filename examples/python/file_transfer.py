"""File transfer, as OpenManus' users write it: copy a file in, process it, and copy the result out."""
import asyncio
import pathlib
import tempfile

from cloche.compat.openmanus import create_sandbox_client

PROCESS = "open('output.txt', 'w').write(open('input.txt').read().upper())"


async def main():
    with tempfile.TemporaryDirectory() as folder:
        local_file, output_file = pathlib.Path(folder, "input.txt"), pathlib.Path(folder, "output.txt")
        local_file.write_text("Input data")
        client = create_sandbox_client()
        await client.create()
        try:
            await client.write_file("process.py", PROCESS)
            await client.copy_to(str(local_file), "/workspace/input.txt")
            await client.run_command("python3 process.py")
            await client.copy_from("/workspace/output.txt", str(output_file))
        finally:
            await client.cleanup()
        print(output_file.read_text())


asyncio.run(main())

# Prints:
#
#   INPUT DATA
