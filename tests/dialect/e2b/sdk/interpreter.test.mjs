import assert from 'node:assert/strict'
import { test } from 'node:test'
import { interpreterSdk, withSandbox } from './sandbox.mjs'

const { Sandbox } = interpreterSdk
const given = withSandbox(Sandbox)

test('variables live on from cell to cell', async () => {
  await given.sandbox.runCode('x = 41')
  const execution = await given.sandbox.runCode('print("so")\nx + 1')
  assert.equal(execution.text, '42')
  assert.deepEqual(execution.logs.stdout, ['so\n'])
  assert.ok(execution.executionCount >= 2)
})

test('an exception is reported with its traceback', async () => {
  const execution = await given.sandbox.runCode('1/0')
  assert.equal(execution.error.name, 'ZeroDivisionError')
  assert.match(execution.error.traceback, /ZeroDivisionError/)
})

test('html, json and data are results of their own', async () => {
  const execution = await given.sandbox.runCode(`
    class Rich:
        def _repr_html_(self): return "<b>rich</b>"
        def _repr_json_(self): return {"a": 1}
    display(Rich())
    "last"`)
  assert.equal(execution.results[0].html, '<b>rich</b>')
  assert.deepEqual(execution.results[0].json, { a: 1 })
  assert.equal(execution.results[0].isMainResult, false)
  assert.equal(execution.results[1].text, 'last')
})

test('a chart is an image and data', async () => {
  const execution = await given.sandbox.runCode(`
import matplotlib.pyplot as plt
plt.bar(['a', 'b'], [1, 2])
plt.title('Bars')
plt.show()`)
  assert.equal(execution.error, undefined)
  const [figure] = execution.results
  assert.ok(figure.png.length > 1000)
  assert.equal(figure.chart.type, 'bar')
  assert.deepEqual(figure.chart.elements.map((bar) => bar.value), [1, 2])
})

test('callbacks get results as they come', async () => {
  const seen = []
  await given.sandbox.runCode('print("a")\ndisplay(1)\nimport sys; print("b", file=sys.stderr)', {
    onStdout: (message) => seen.push(['out', message.line]),
    onStderr: (message) => seen.push(['err', message.line]),
    onResult: (result) => seen.push(['result', result.text]),
  })
  // What is printed before a result comes before it.
  const kinds = seen.map(([kind]) => kind)
  assert.deepEqual([...seen].sort(), [['err', 'b\n'], ['out', 'a\n'], ['result', '1']])
  assert.ok(kinds.indexOf('out') < kinds.indexOf('result'))
})

test('contexts are separate', async () => {
  const context = await given.sandbox.createCodeContext({ cwd: '/tmp' })
  await given.sandbox.runCode('y = 1', { context })
  const own = await given.sandbox.runCode('import os; (y, os.getcwd())', { context })
  assert.equal(own.text, "(1, '/tmp')")
  const other = await given.sandbox.runCode('y')
  assert.equal(other.error.name, 'NameError')
  const listed = await given.sandbox.listCodeContexts()
  assert.ok(listed.some((each) => each.id === context.id && each.cwd === '/tmp'))
  assert.ok(listed.some((each) => each.language === 'javascript'))
  await given.sandbox.restartCodeContext(context.id)
  const fresh = await given.sandbox.runCode('y', { context })
  assert.equal(fresh.error.name, 'NameError')
  await given.sandbox.removeCodeContext(context.id)
  await assert.rejects(given.sandbox.runCode('1', { context }))
})

test('javascript and bash', async () => {
  const script = await given.sandbox.runCode('const z = 20\nawait Promise.resolve(z + 1)', { language: 'js' })
  assert.equal(script.text, '21')
  const kept = await given.sandbox.runCode('console.log(z)', { language: 'js' })
  assert.deepEqual(kept.logs.stdout, ['20\n'])
  const shell = await given.sandbox.runCode('cd /tmp && pwd', { language: 'bash' })
  assert.equal(shell.logs.stdout.join(''), '/tmp\n')
})

test('variables of one execution are gone after it', async () => {
  const during = await given.sandbox.runCode('import os; os.getenv("FOO")', { envs: { FOO: 'bar' } })
  assert.equal(during.text, 'bar')
  const after = await given.sandbox.runCode('os.getenv("FOO") is None')
  assert.equal(after.text, 'True')
})

test('a client that gives up interrupts its code', async () => {
  await given.sandbox.runCode('import time\nticks = 0')
  await assert.rejects(given.sandbox.runCode('while True:\n  ticks += 1\n  time.sleep(0.01)', { timeoutMs: 700 }))
  const execution = await given.sandbox.runCode('ticks > 0')
  assert.equal(execution.text, 'True')
})
