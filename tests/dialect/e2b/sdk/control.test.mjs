import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sdk, withSandbox } from './sandbox.mjs'

const { Sandbox } = sdk
const mark = `mark-${process.pid}`
const given = withSandbox(Sandbox, { metadata: { mark, 'odd key': 'a&b=c d' }, envs: { GREETING: 'hello' } })

test('a new sandbox runs', async () => {
  assert.match(given.sandbox.sandboxId, /^[a-z0-9]+$/)
  assert.equal(await given.sandbox.isRunning(), true)
})

test('information has what was asked for', async () => {
  const info = await given.sandbox.getInfo()
  assert.equal(info.sandboxId, given.sandbox.sandboxId)
  assert.equal(info.metadata.mark, mark)
  assert.equal(info.metadata['odd key'], 'a&b=c d')
  assert.ok(info.endAt.getTime() > Date.now())
})

test('a list filters by metadata', async () => {
  const found = await Sandbox.list({ query: { metadata: { mark, 'odd key': 'a&b=c d' } } }).nextItems()
  assert.deepEqual(found.map((each) => each.sandboxId), [given.sandbox.sandboxId])
  const none = await Sandbox.list({ query: { metadata: { mark: 'another' } } }).nextItems()
  assert.deepEqual(none, [])
})

test('a list comes in pages', async () => {
  const second = await Sandbox.create({ timeoutMs: 60_000, metadata: { mark } })
  try {
    const pages = Sandbox.list({ limit: 1, query: { metadata: { mark } } })
    const first = await pages.nextItems()
    assert.equal(pages.hasNext, true)
    const rest = await pages.nextItems()
    assert.equal(pages.hasNext, false)
    assert.deepEqual([...first, ...rest].map((each) => each.sandboxId), [second.sandboxId, given.sandbox.sandboxId])
  } finally {
    await second.kill()
  }
})

test('a timeout moves the end', async () => {
  const before = await given.sandbox.getInfo()
  await given.sandbox.setTimeout(600_000)
  const after = await given.sandbox.getInfo()
  assert.ok(after.endAt.getTime() > before.endAt.getTime() + 60_000)
})

test('a second client connects to the same sandbox', async () => {
  const other = await Sandbox.connect(given.sandbox.sandboxId)
  await given.sandbox.files.write('shared.txt', 'from the first')
  assert.equal(await other.files.read('shared.txt'), 'from the first')
})

test('variables of the sandbox reach its programs', async () => {
  const result = await given.sandbox.commands.run('echo $GREETING')
  assert.equal(result.stdout, 'hello\n')
})

test('metrics have a cpu and memory', async () => {
  const metrics = await given.sandbox.getMetrics()
  if (metrics.length > 0) {
    assert.ok(metrics[0].memTotal > 0)
    assert.ok(metrics[0].cpuCount > 0)
  }
})

test('a killed sandbox is gone', async () => {
  const sandbox = await Sandbox.create({ timeoutMs: 60_000 })
  assert.notEqual(await sandbox.kill(), false)
  assert.equal(await sandbox.isRunning(), false)
  assert.equal(await Sandbox.kill(sandbox.sandboxId), false)
  await assert.rejects(Sandbox.getInfo(sandbox.sandboxId))
})

test('a paused sandbox keeps its files', async () => {
  const sandbox = await Sandbox.create({ timeoutMs: 60_000 })
  try {
    await sandbox.files.write('kept.txt', 'kept')
    const pause = sandbox.pause ?? sandbox.betaPause
    await pause.call(sandbox)
    assert.equal(await sandbox.isRunning(), false)
    const again = await Sandbox.connect(sandbox.sandboxId)
    assert.equal(again.sandboxId, sandbox.sandboxId)
    assert.equal(await again.files.read('kept.txt'), 'kept')
  } finally {
    await sandbox.kill()
  }
})

test('an unknown template is named in the error', async () => {
  await assert.rejects(Sandbox.create('no-such-template', { timeoutMs: 10_000 }), /no-such-template/)
})

test('a wrong key is refused', async () => {
  if (process.env.E2B_TESTS_NEED_KEY !== '1') return
  await assert.rejects(Sandbox.create({ apiKey: 'e2b_' + '0'.repeat(40) }), sdk.AuthenticationError)
})
