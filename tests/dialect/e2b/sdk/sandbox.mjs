// What the tests share: the package of the version under test, and a sandbox for each file.
import { after, before } from 'node:test'

const version = process.env.E2B_SDK_VERSION ?? 'newest'
export const sdk = await import(`e2b-${version}`)
export const interpreterSdk = await import(`code-interpreter-${version}`)
export const isOldest = version === 'oldest'

// The sandbox that the tests of a file share, as `given.sandbox`.
export function withSandbox(Sandbox, options = {}) {
  const given = {}
  before(async () => {
    given.sandbox = await Sandbox.create({ timeoutMs: 120_000, ...options })
  })
  after(async () => {
    await given.sandbox?.kill()
    // Timers of the packages may keep the process for another minute.
    setTimeout(() => process.exit(), 100)
  })
  return given
}
