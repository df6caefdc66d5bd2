// An analyst written with E2B's code interpreter. It runs on E2B and, unchanged, on Cloche:
//
//     export E2B_API_KEY=e2b_...                       # on Cloche: cloche token create --e2b
//     export E2B_API_URL=http://127.0.0.1:8080         # on E2B: leave these two out
//     export E2B_SANDBOX_URL=http://127.0.0.1:8080
//     npm install @e2b/code-interpreter && npx tsx e2b_analyst.ts
import { writeFileSync } from 'node:fs'
import { Sandbox } from '@e2b/code-interpreter'

const sales = 'month,amount\nJan,120\nFeb,95\nMar,180\n'

async function main(): Promise<void> {
  const sandbox: Sandbox = await Sandbox.create({ timeoutMs: 120_000, metadata: { task: 'sales' } })
  try {
    await sandbox.files.write('sales.csv', sales)
    const checked = await sandbox.commands.run('wc -l < sales.csv')
    console.log(`lines: ${checked.stdout.trim()}`)

    await sandbox.runCode('import csv\nrows = list(csv.DictReader(open("sales.csv")))')
    const total = await sandbox.runCode('sum(int(row["amount"]) for row in rows)')
    console.log(`total: ${total.text}`)

    const plotted = await sandbox.runCode(`
import matplotlib.pyplot as plt
plt.bar([row["month"] for row in rows], [int(row["amount"]) for row in rows])
plt.title("Sales")
plt.show()`)
    const [figure] = plotted.results
    if (figure?.png) {
      writeFileSync('sales.png', Buffer.from(figure.png, 'base64'))
      console.log(`chart: ${figure.chart?.type}, best month ${bestMonth(figure.chart?.elements ?? [])}`)
    }
  } finally {
    await sandbox.kill()
  }
}

function bestMonth(bars: { label: string; value: string | number }[]): string {
  const best = bars.reduce((a, b) => (Number(b.value) > Number(a.value) ? b : a))
  return best.label
}

await main()
