"""Test cases with verdicts: each case is a separate run, and the verdict is based on evidence from the kernel."""
import cloche

with cloche.start() as server, server.client() as client:
    cases = [cloche.Case("3", expected="9"), cloche.Case("7", expected="49"), cloche.Case("three", expected="9")]
    source = "n = int(input())\nprint(n * n if n != 7 else 50)"
    for case, result in zip(cases, client.run_code("python", source, cases=cases)):
        print(case.input, "passed" if result.passed else "failed", result.category)

# Prints:
#
#   3 passed success
#   7 failed success
#   three failed runtime_error
