// Two hundred programs that print nothing, each followed by a stream of E2B's package. Prints `open`, waits for a line on
// stdin, and then ends the sandboxes, and with them every stream. The streams take all connections that the package has
// for calls of this kind.
import { sdk } from './sandbox.mjs'

const count = Number(process.env.BENCH_STREAMS ?? 200)
const each = 25 // a session has at most 32 runs
const sandboxes = await Promise.all(
  Array.from({ length: Math.ceil(count / each) }, () => sdk.Sandbox.create({ timeoutMs: 600_000 })))
const handles = []
for (let i = 0; i < count; ++i) {
  handles.push(await sandboxes[i % sandboxes.length].commands.run('exec sleep 3600', { background: true, timeoutMs: 0 }))
}
console.log('open')
await new Promise((resolve) => process.stdin.once('data', resolve))
const ends = handles.map((handle) => handle.wait().catch((error) => error))
await Promise.all(sandboxes.map((sandbox) => sandbox.kill()))
const ended = (await Promise.all(ends)).filter((end) => end instanceof Error).length
console.log(`${ended} ended with their sandboxes`)
process.exit()
