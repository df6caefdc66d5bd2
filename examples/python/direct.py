"""Direct claim and release, as the autograder's users write it: claim a warm sandbox and release it explicitly."""
from cloche.compat.autograder import (Language, SandboxPoolConfig, SubmissionFile, get_sandbox_manager,
                                      initialize_sandbox_manager)

files = {"main.py": SubmissionFile(filename="main.py", content="print('Hello, sandbox!')")}

with initialize_sandbox_manager([SandboxPoolConfig(Language.PYTHON, 1, 2, idle_timeout=600, running_timeout=120)]):
    manager = get_sandbox_manager()
    sandbox = manager.get_sandbox(Language.PYTHON)
    try:
        sandbox.prepare_workdir(files)
        result = sandbox.run_command("python main.py")
    finally:
        manager.release_sandbox(Language.PYTHON, sandbox)
    print(result.stdout.strip(), result.exit_code, result.category.value)

# Prints:
#
#   Hello, sandbox! 0 success
