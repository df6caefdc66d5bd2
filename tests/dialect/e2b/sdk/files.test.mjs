import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isOldest, sdk, withSandbox } from './sandbox.mjs'

const { Sandbox } = sdk
const given = withSandbox(Sandbox)

test('a file is read as it was written', async () => {
  const info = await given.sandbox.files.write('a b.txt', 'text \u4e16')
  assert.equal(info.path, '/home/user/a b.txt')
  assert.equal(await given.sandbox.files.read('a b.txt'), 'text \u4e16')
  assert.equal(await given.sandbox.files.exists('a b.txt'), true)
  assert.equal(await given.sandbox.files.exists('none'), false)
})

test('bytes, empty files and parents', async () => {
  const bytes = new Uint8Array(300_000).map((_, i) => i % 251)
  await given.sandbox.files.write('deep/er/bytes.bin', bytes.buffer)
  const read = await given.sandbox.files.read('deep/er/bytes.bin', { format: 'bytes' })
  assert.deepEqual(Buffer.from(read), Buffer.from(bytes))
  await given.sandbox.files.write('empty', '')
  assert.equal(await given.sandbox.files.read('empty'), '')
})

test('several files in one call', async () => {
  const written = await given.sandbox.files.write([
    { path: 'many/one', data: '1' },
    { path: '/home/user/many/two', data: '2' },
  ])
  assert.deepEqual(written.map((each) => each.path).sort(), ['/home/user/many/one', '/home/user/many/two'])
})

test('a file that does not exist is not found', async () => {
  await assert.rejects(given.sandbox.files.read('none'), (error) => /not found|does not exist/i.test(error.message))
})

test('directories are made, listed, moved and removed', async () => {
  assert.equal(await given.sandbox.files.makeDir('dir/inner'), true)
  assert.equal(await given.sandbox.files.makeDir('dir/inner'), false)
  await given.sandbox.files.write('dir/file', 'x')
  const listed = await given.sandbox.files.list('dir')
  assert.deepEqual(listed.map((each) => [each.name, each.type]), [['file', 'file'], ['inner', 'dir']])
  const moved = await given.sandbox.files.rename('dir/file', 'dir/inner/moved')
  assert.equal(moved.path, '/home/user/dir/inner/moved')
  const deep = await given.sandbox.files.list('dir', { depth: 2 })
  assert.deepEqual(deep.map((each) => each.path), ['/home/user/dir/inner', '/home/user/dir/inner/moved'])
  await given.sandbox.files.remove('dir')
  assert.equal(await given.sandbox.files.exists('dir'), false)
})

test('information about a file', async () => {
  await given.sandbox.files.write('info.txt', '12345')
  await given.sandbox.commands.run('chmod 640 info.txt; ln -sf info.txt link')
  const info = await given.sandbox.files.getInfo('info.txt')
  assert.deepEqual([info.name, info.size, info.mode, info.permissions, info.owner, info.group],
    ['info.txt', 5, 0o640, '-rw-r-----', 'user', 'user'])
  const link = await given.sandbox.files.getInfo('link')
  assert.equal(link.symlinkTarget, '/home/user/info.txt')
})

test('a watcher sees what happens', async () => {
  await given.sandbox.files.makeDir('watched')
  const events = []
  const watcher = await given.sandbox.files.watchDir('watched', (event) => events.push(event), { recursive: true })
  await given.sandbox.files.makeDir('watched/sub')
  await given.sandbox.files.write('watched/sub/file', 'x')
  for (let i = 0; i < 100 && !events.some((each) => each.name === 'sub/file' && each.type === 'write'); ++i) {
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  await watcher.stop()
  assert.ok(events.some((each) => each.name === 'sub' && each.type === 'create'), JSON.stringify(events))
  assert.ok(events.some((each) => each.name === 'sub/file' && each.type === 'write'), JSON.stringify(events))
})

test('a signed link works without a token', async () => {
  await given.sandbox.files.write('signed.txt', 'signed')
  const link = await given.sandbox.downloadUrl('signed.txt', { useSignatureExpiration: 60 })
  const good = await fetch(link)
  assert.equal(await good.text(), 'signed')
  const bad = await fetch(link.replace(/signature=v1_./, 'signature=v1_-'))
  assert.ok(bad.status === 401 || bad.status === 404, String(bad.status))
})

test('metadata of a file', { skip: isOldest }, async () => {
  await given.sandbox.files.write('noted.txt', 'x', { metadata: { origin: 'test' } })
  const info = await given.sandbox.files.getInfo('noted.txt')
  assert.equal(info.metadata?.origin, 'test')
})
