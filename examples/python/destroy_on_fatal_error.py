"""Destroy on fatal error: after a serious failure the sandbox is not used again."""
from cloche.compat.autograder import (Language, ResponseCategory, SandboxPoolConfig, SubmissionFile,
                                      get_sandbox_manager, initialize_sandbox_manager)


def grade(source):
    manager = get_sandbox_manager()
    sandbox = manager.get_sandbox(Language.PYTHON)
    try:
        sandbox.prepare_workdir({"main.py": SubmissionFile(filename="main.py", content=source)})
        result = sandbox.run_command("python main.py", timeout=1)
        if result.category == ResponseCategory.TIMEOUT:
            manager.destroy_sandbox(Language.PYTHON, sandbox)
            return result  # not released, because it is destroyed
    except Exception:
        manager.destroy_sandbox(Language.PYTHON, sandbox)
        raise
    manager.release_sandbox(Language.PYTHON, sandbox)
    return result


with initialize_sandbox_manager([SandboxPoolConfig(Language.PYTHON, 1, 2, idle_timeout=600, running_timeout=120)]):
    for source in ("print('quick')", "print('so far', flush=True)\nwhile True: pass", "print('as before')"):
        result = grade(source)
        print(f"{result.category.value}, exit code {result.exit_code}, printed {result.stdout.strip()}")

# Prints:
#
#   success, exit code 0, printed quick
#   timeout, exit code 124, printed so far
#   success, exit code 0, printed as before
