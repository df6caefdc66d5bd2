"""An analyst written with E2B's code interpreter. It runs on E2B and, unchanged, on Cloche:

    export E2B_API_KEY=e2b_...                       # on Cloche: cloche token create --e2b
    export E2B_API_URL=http://127.0.0.1:8080         # on E2B: leave these two out
    export E2B_SANDBOX_URL=http://127.0.0.1:8080
    pip install e2b-code-interpreter && python3 e2b_analyst.py
"""
import base64
import pathlib

from e2b_code_interpreter import Sandbox

SALES = "month,amount\nJan,120\nFeb,95\nMar,180\n"
PLOT = """
import matplotlib.pyplot as plt
plt.bar([row["month"] for row in rows], [int(row["amount"]) for row in rows])
plt.title("Sales")
plt.show()"""


def main():
    with Sandbox.create(timeout=120, metadata={"task": "sales"}) as sandbox:
        sandbox.files.write("sales.csv", SALES)
        checked = sandbox.commands.run("wc -l < sales.csv")
        print(f"lines: {checked.stdout.strip()}")

        sandbox.run_code('import csv\nrows = list(csv.DictReader(open("sales.csv")))')
        total = sandbox.run_code('sum(int(row["amount"]) for row in rows)')
        print(f"total: {total.text}")

        figure = sandbox.run_code(PLOT).results[0]
        pathlib.Path("sales.png").write_bytes(base64.b64decode(figure.png))
        best = max(figure.chart.elements, key=lambda bar: float(bar.value))
        print(f"chart: {figure.chart.type.value}, best month {best.label}")


if __name__ == "__main__":
    main()
