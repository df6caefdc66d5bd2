// The driver for JavaScript: runs one cell after the other in one Node.js, so that variables are kept, and reports to the
// server how each ended.
//
// Requests come on stdin, a line of JSON each. Records go to the descriptor that CLOCHE_EVENT_FD names, each with a NUL
// at its end: `ready PID`, `begin ID`, `display ID RESULT`, `end ID REPORT`; the same as those of cell_driver.py. Cells
// are evaluated as by Node's own REPL: declarations are kept, `await` is allowed, SIGINT interrupts. All that is here
// shares its process with the cells: one that meddles with it harms its own context and nothing else. It is the body of
// a function, so that its names are not those of cells.
'use strict'
const fs = require('fs')
const { PassThrough } = require('stream')
const readline = require('readline')
const repl = require('repl')
const util = require('util')

const mostValue = 64 * 1024
const mostMessage = 8 * 1024
const mostTraceback = 32 * 1024
const mostResult = 6 * 1024 * 1024
const forms = {
  'text/html': '_toHtml',
  'text/markdown': '_toMd',
  'image/svg+xml': '_toSvg',
  'image/png': '_toPng',
  'image/jpeg': '_toJpeg',
}

const events = Number(process.env.CLOCHE_EVENT_FD)
delete process.env.CLOCHE_EVENT_FD
const isTypeScript = process.argv.includes('--typescript')
let current = null
let interrupts = 0

const evaluator = repl.start({
  prompt: '',
  input: new PassThrough(),
  output: new PassThrough().resume(),
  terminal: false,
  useGlobal: true,
  breakEvalOnSigint: true,
})
evaluator.removeAllListeners('SIGINT')
// While code runs, the evaluator handles SIGINT; while something is awaited, and between cells, this does.
function onInterrupt() {
  interrupts += 1
  current?.interrupt?.()
}
process.on('SIGINT', onInterrupt)
function takeError(error) {
  if (current?.fail) current.fail(error)
  else process.stderr.write(`${tracebackOf(error)}\n`)
}
process.on('uncaughtException', takeError)
process.on('unhandledRejection', takeError)
// Up to Node.js 24 a REPL reports what a cell throws to its domain.
evaluator._domain?.removeAllListeners('error')
evaluator._domain?.on('error', takeError)

function send(record) {
  let rest = Buffer.from(`${record}\0`)
  while (rest.length > 0) {
    try {
      rest = rest.subarray(fs.writeSync(events, rest))
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error
    }
  }
}

function cut(text, most) {
  if (text.length <= most) return text
  return `${text.slice(0, most / 2)} [...] ${text.slice(text.length - most / 4)}`
}

function textOf(value) {
  return typeof value === 'string' ? value : util.inspect(value)
}

function formsOf(value) {
  const result = { 'text/plain': cut(textOf(value), mostValue) }
  if (value === null || typeof value !== 'object') return result
  try {
    if (typeof value._toMime === 'function') Object.assign(result, value._toMime())
    for (const [kind, method] of Object.entries(forms)) {
      if (typeof value[method] === 'function') result[kind] = value[method]()
    }
  } catch {
    // A form that cannot be made is left out.
  }
  return result
}

function show(result, main) {
  let text = JSON.stringify({ main, forms: result })
  if (text.length > mostResult) {
    text = JSON.stringify({ main, forms: { 'text/plain': result['text/plain'] ?? '' }, cut: true })
  }
  send(`display ${current.id} ${text}`)
}

globalThis.display = (...values) => {
  for (const value of values) {
    if (current?.rich) show(formsOf(value), false)
    else process.stdout.write(`${textOf(value)}\n`)
  }
}

function tracebackOf(error) {
  const stack = error?.stack ?? util.inspect(error)
  const own = (line) => /^\s+at (.*(node:|\[eval\])|new Promise \(<anonymous>\))/.test(line)
  return cut(
    String(stack)
      .split('\n')
      .filter((line) => !own(line))
      .join('\n'),
    mostTraceback,
  )
}

function describe(error) {
  const isError = error instanceof Error || typeof error?.name === 'string'
  return {
    type: isError ? String(error.name) : 'Error',
    message: cut(isError ? String(error.message) : textOf(error), mostMessage),
    traceback: tracebackOf(error),
  }
}

// `import a, { b as c } from "m"` as an expression, which a REPL has no statement for.
function withoutImports(source) {
  const statement = /^[ \t]*import\s+(?:([^'"();]+?)\s+from\s+)?(['"])([^'"\n]+)\2[ \t]*;?[ \t]*$/gm
  return source.replace(statement, (whole, names, quote, module) => {
    const wanted = `await import(${JSON.stringify(module)})`
    if (!names) return `${wanted};`
    const parts = []
    const braces = names.match(/\{([^}]*)\}/)
    const all = names.match(/\*\s+as\s+([\w$]+)/)
    const only = names.replace(/\{[^}]*\}/, '').replace(/\*\s+as\s+[\w$]+/, '').replace(/,/g, '').trim()
    if (only) parts.push(`var ${only} = (${wanted}).default;`)
    if (all) parts.push(`var ${all[1]} = ${wanted};`)
    if (braces) parts.push(`var {${braces[1].replace(/\s+as\s+/g, ': ')}} = ${wanted};`)
    return parts.join(' ')
  })
}

function prepared(source) {
  if (!isTypeScript) return withoutImports(source)
  const { stripTypeScriptTypes } = require('module')
  if (typeof stripTypeScriptTypes !== 'function') {
    throw new Error(`Node.js ${process.version} cannot run TypeScript; use JavaScript, or an image with Node.js 22.13`)
  }
  return withoutImports(stripTypeScriptTypes(source, { mode: 'transform' }))
}

function evaluate(source) {
  return new Promise((resolve, reject) => {
    current.fail = reject
    current.interrupt = () => reject(Object.assign(new Error('interrupted'), { name: 'KeyboardInterrupt' }))
    process.removeListener('SIGINT', onInterrupt)
    try {
      evaluator.eval(`${source}\n`, evaluator.context, 'cell', (error, value) => {
        if (error instanceof repl.Recoverable) reject(error.err)
        else if (error) reject(error)
        else resolve(value)
      })
    } finally {
      process.on('SIGINT', onInterrupt)
    }
  })
}

function setEnvironment(variables) {
  const former = {}
  for (const [name, value] of Object.entries(variables)) {
    former[name] = process.env[name] ?? null
    if (value === null) delete process.env[name]
    else process.env[name] = value
  }
  return former
}

async function serve(request) {
  // An interrupt meant for an earlier cell must not reach this one: it is waited for.
  for (let waited = 0; interrupts < request.interrupts && waited < 250; ++waited) {
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  interrupts = request.interrupts
  current = { id: request.id, rich: request.rich }
  send(`begin ${request.id}`)
  const report = {}
  const environment = setEnvironment(request.env ?? {})
  try {
    const value = await evaluate(prepared(request.code))
    if (value !== undefined && !request.code.trimEnd().endsWith(';')) {
      const text = textOf(value)
      report.value = cut(text, mostValue)
      report.value_cut = text.length > mostValue
      if (request.rich) show(formsOf(value), true)
    }
  } catch (error) {
    if (error?.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED') interrupts += 1
    report.error = describe(error)
  }
  setEnvironment(environment)
  const { id } = current
  current = null
  send(`end ${id} ${JSON.stringify(report)}`)
}

async function main() {
  send(`ready ${process.pid}`)
  for await (const line of readline.createInterface({ input: process.stdin, terminal: false })) {
    await serve(JSON.parse(line))
  }
  process.exit(0)
}

main()
