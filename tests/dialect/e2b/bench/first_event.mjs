// How long a client waits for a command: E2B's own package beside the service's own `/bash`, both over the HTTP client of
// Node.js, in turns. Prints JSON.
//
// The package's first event says that the program runs, and its number. `/bash` says the same with its response to
// `background`; its own first event comes before it starts anything.
import { sdk } from './sandbox.mjs'

const runs = Number(process.env.BENCH_RUNS ?? 200)
const base = process.env.E2B_API_URL

async function timed(action) {
  const begun = performance.now()
  const rest = await action()
  const waited = performance.now() - begun
  await rest()
  return waited
}

function post(path, body, accept = 'application/json') {
  return fetch(base + path, {
    method: 'POST', headers: { 'Content-Type': 'application/json', Accept: accept }, body: JSON.stringify(body),
  })
}

async function bashStart(session) {
  const response = await post('/bash', { session_id: session, command: 'true', background: true })
  const run = await response.json()
  if (response.status !== 202) throw new Error(`the command did not start: ${response.status}`)
  const path = `/sessions/${run.tenant_id}/${session}/runs/${run.run_id}`
  return async () => {
    await (await post(`${path}/wait`, { timeout: 30 })).text()
    await (await fetch(base + path, { method: 'DELETE' })).text()
  }
}

// The stream is read to its end, which is not part of the time.
async function bashOutput(session) {
  const response = await post('/bash', { session_id: session, command: 'echo x' }, 'text/event-stream')
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  for (let text = ''; !text.includes('event: stdout');) {
    const piece = await reader.read()
    if (piece.done) throw new Error(`no output: ${response.status} ${text}`)
    text += decoder.decode(piece.value, { stream: true })
  }
  return async () => {
    while (!(await reader.read()).done);
  }
}

async function bashResult(session) {
  const response = await post('/bash', { session_id: session, command: 'true' })
  if ((await response.json()).exit_code !== 0) throw new Error(`the command failed: ${response.status}`)
  return async () => {}
}

async function sdkStart(sandbox) {
  const handle = await sandbox.commands.run('true', { background: true })
  return async () => handle.wait()
}

async function sdkOutput(sandbox) {
  let handle
  await new Promise((resolve, reject) => {
    sandbox.commands.run('echo x', { background: true, onStdout: resolve }).then((made) => { handle = made }, reject)
  })
  return async () => handle?.wait()
}

async function sdkResult(sandbox) {
  await sandbox.commands.run('true')
  return async () => {}
}

function summary(times) {
  const sorted = [...times].sort((a, b) => a - b)
  const at = (share) => Number(sorted[Math.floor(share * (sorted.length - 1))].toFixed(2))
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99) }
}

const sandbox = await sdk.Sandbox.create({ timeoutMs: 600_000 })
const actions = {
  'started, /bash': () => bashStart(sandbox.sandboxId),
  'started, SDK': () => sdkStart(sandbox),
  'first output, /bash': () => bashOutput(sandbox.sandboxId),
  'first output, SDK': () => sdkOutput(sandbox),
  'whole run, /bash': () => bashResult(sandbox.sandboxId),
  'whole run, SDK': () => sdkResult(sandbox),
}
const times = Object.fromEntries(Object.keys(actions).map((name) => [name, []]))
for (let i = -10; i < runs; ++i) {
  for (const [name, action] of Object.entries(actions)) {
    const took = await timed(action)
    if (i >= 0) times[name].push(took)
  }
}
await sandbox.kill()
console.log(JSON.stringify(Object.fromEntries(Object.entries(times).map(([name, all]) => [name, summary(all)]))))
process.exit()
