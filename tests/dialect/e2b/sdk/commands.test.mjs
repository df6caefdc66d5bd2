import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sdk, withSandbox } from './sandbox.mjs'

const { Sandbox } = sdk
const given = withSandbox(Sandbox)

test('output and exit code of a command', async () => {
  const result = await given.sandbox.commands.run('echo out; echo err >&2')
  assert.deepEqual([result.stdout, result.stderr, result.exitCode], ['out\n', 'err\n', 0])
})

test('a failing command is an error with its code', async () => {
  await assert.rejects(given.sandbox.commands.run('echo partial; exit 3'), (error) => {
    assert.equal(error.exitCode, 3)
    assert.equal(error.stdout, 'partial\n')
    return true
  })
})

test('the user has its home directory', async () => {
  const result = await given.sandbox.commands.run('whoami; pwd; echo $HOME')
  assert.equal(result.stdout, 'user\n/home/user\n/home/user\n')
})

test('variables and directory of a command', async () => {
  const result = await given.sandbox.commands.run('echo $A; pwd', { envs: { A: 'b c' }, cwd: '/tmp' })
  assert.equal(result.stdout, 'b c\n/tmp\n')
})

test('a directory that does not exist is an error', async () => {
  await assert.rejects(given.sandbox.commands.run('pwd', { cwd: '/nowhere' }), /\/nowhere/)
})

test('large output arrives whole', async () => {
  const result = await given.sandbox.commands.run('head -c 5000000 /dev/zero | tr "\\0" x')
  assert.equal(result.stdout.length, 5_000_000)
})

test('special characters arrive unchanged', async () => {
  const text = '\'"`$\\ \u00e9 \u4e16\u754c \u{1f600}'
  const result = await given.sandbox.commands.run('printf %s "$T"', { envs: { T: text } })
  assert.equal(result.stdout, text)
})

test('a background command is listed, connected to and killed', async () => {
  const started = await given.sandbox.commands.run('for i in 1 2 3; do echo $i; done; sleep 300', { background: true })
  const listed = await given.sandbox.commands.list()
  assert.ok(listed.some((each) => each.pid === started.pid))
  const connected = await given.sandbox.commands.connect(started.pid)
  assert.equal(connected.pid, started.pid)
  assert.equal(await given.sandbox.commands.kill(started.pid), true)
  await assert.rejects(started.wait())
  assert.equal(await given.sandbox.commands.kill(started.pid), false)
})

test('callbacks get output as it comes', async () => {
  const pieces = []
  await given.sandbox.commands.run('echo one; read -t 1 x < <(sleep 5); echo two', { onStdout: (text) => pieces.push(text) })
  assert.equal(pieces.join(''), 'one\ntwo\n')
  assert.ok(pieces.length >= 2)
})

test('stdin reaches the program', async () => {
  const started = await given.sandbox.commands.run('cat', { background: true, stdin: true })
  await given.sandbox.commands.sendStdin(started.pid, 'line\n')
  let got = ''
  for (let i = 0; i < 100 && got !== 'line\n'; ++i) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    got = started.stdout
  }
  assert.equal(got, 'line\n')
  await started.kill()
})

test('a command that runs too long is ended', async () => {
  await assert.rejects(given.sandbox.commands.run('sleep 60', { timeoutMs: 500 }), sdk.TimeoutError)
  let runs = true
  for (let i = 0; i < 200 && runs; ++i) {
    const left = await given.sandbox.commands.list()
    runs = left.some((each) => each.args.includes('sleep 60'))
  }
  assert.equal(runs, false)
})

test('a sandbox killed during a command ends it with an error', async () => {
  const sandbox = await Sandbox.create({ timeoutMs: 60_000 })
  const running = sandbox.commands.run('sleep 60')
  const outcome = assert.rejects(running)
  await new Promise((resolve) => setTimeout(resolve, 300))
  await sandbox.kill()
  await outcome
})

test('a terminal runs a shell', async () => {
  let screen = ''
  const decoder = new TextDecoder()
  const terminal = await given.sandbox.pty.create({ cols: 80, rows: 24, onData: (bytes) => (screen += decoder.decode(bytes)) })
  await given.sandbox.pty.resize(terminal.pid, { cols: 100, rows: 30 })
  await given.sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode('stty size; exit\n'))
  const ended = await terminal.wait()
  assert.equal(ended.exitCode, 0)
  assert.match(screen, /30 100/)
})

test('root and sudo work where the template allows them', async () => {
  const sudo = await given.sandbox.commands.run('sudo whoami')
  assert.equal(sudo.stdout, 'root\n')
  const root = await given.sandbox.commands.run('whoami; pwd', { user: 'root' })
  assert.equal(root.stdout, 'root\n/root\n')
})
