"""Scripts with secrets and events, as jazzmine's users write it: a pool of warm containers, checked out for one turn."""
import asyncio

from cloche.compat.jazzmine import (ExecutionMode, SandboxBuilder, SandboxConfig, SandboxPool, ScriptExecutor,
                                    ToolRegistry)

SCRIPT = """
import os
log('reading ' + inputs['table'])
intermediate('rows', inputs['most'])
final_result({'last': (inputs['most'] - 1) ** 2, 'password has': len(os.environ['DB_PASSWORD'])})
"""


async def main():
    registry = ToolRegistry()
    registry.register_sandbox(SandboxConfig(pool_size=1, secrets=("DB_PASSWORD",)))
    pool = SandboxPool(registry=registry, builder=SandboxBuilder(registry), secrets={"DB_PASSWORD": "secure_value"},
                       max_overflow=1)
    await pool.startup()
    try:
        async with pool.checkout("default") as container:
            result = await ScriptExecutor().execute(container, SCRIPT, ExecutionMode.PLAN,
                                                    inputs={"table": "squares", "most": 4})
        for log in result.logs:
            print("log:", log["message"])
        for found in result.intermediates:
            print(f"{found['label']}: {found['data']}")
        print(result.final_result)
    finally:
        await pool.shutdown()


asyncio.run(main())

# Prints:
#
#   log: reading squares
#   rows: 4
#   {'last': 9, 'password has': 12}
