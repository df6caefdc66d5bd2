"""Scoped claims, the recommended way: the end of the block releases the sandbox, even after an exception."""
from cloche.compat.autograder import (Language, SandboxPoolConfig, SubmissionFile, get_sandbox_manager,
                                      initialize_sandbox_manager)

files = {"calculator.py": SubmissionFile(filename="calculator.py", content="print(int(input()) + int(input()))")}

with initialize_sandbox_manager([SandboxPoolConfig(Language.PYTHON, 1, 2, idle_timeout=600, running_timeout=120)]):
    manager = get_sandbox_manager()
    with manager.acquire_sandbox(Language.PYTHON) as sandbox:
        sandbox.prepare_workdir(files)
        print("5 and 3 make", sandbox.run_commands(["5", "3"], program_command="python calculator.py").stdout.strip())

    try:
        with manager.acquire_sandbox(Language.PYTHON) as sandbox:
            raise RuntimeError("the grader failed")
    except RuntimeError as error:
        print(f"{error}, and {manager.get_pool_stats()['python']['active']} sandboxes are leased")

# Prints:
#
#   5 and 3 make 8
#   the grader failed, and 0 sandboxes are leased
