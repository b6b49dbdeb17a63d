import { Effect, type Scope } from "effect"

/** Resources of a process. */
export interface Holdings {
  /** Bytes of live objects and buffers, without compiled code. */
  readonly live: number
  /** Bytes of compiled code, which grows for many minutes as functions become hot. */
  readonly code: number
  readonly rss: number
  /** Sockets, timers and other handles that keep a process alive. */
  readonly handles: number
}

/** Busy and idle time of the event loop since the start, in milliseconds. */
interface Busyness {
  readonly active: number
  readonly idle: number
}

/** Inspects another process. */
export interface Inspector {
  /** The resources after a full collection. */
  readonly holdings: Effect.Effect<Holdings>
  readonly busyness: Effect.Effect<Busyness>
}

interface Answer {
  readonly id: number
  readonly result?: { readonly result?: { readonly value?: string } }
}

/** V8 heap spaces of machine code, and of bytecode with its metadata. */
const codeSpaces = ["code_space", "code_large_object_space", "trusted_space", "trusted_large_object_space"]

/** Expression for the process; its value is a {@link Found}. */
const question = `{
  ...process.memoryUsage(),
  handles: process.getActiveResourcesInfo().length,
  code: require("node:v8")
    .getHeapSpaceStatistics()
    .filter(({ space_name }) => ${JSON.stringify(codeSpaces)}.includes(space_name))
    .reduce((sum, { space_used_size }) => sum + space_used_size, 0)
}`

interface Found {
  readonly rss: number
  readonly heapUsed: number
  readonly external: number
  readonly handles: number
  readonly code: number
}

/** The second collection frees what the first one finalises. */
const collections = 2

/** Connects to the inspector of a process; `node --inspect` prints the URL to stderr. */
export const openInspector = Effect.fnUntraced(function* (
  url: string
): Effect.fn.Return<Inspector, never, Scope.Scope> {
  const waiting = new Map<number, (answer: Answer) => void>()
  let last = 0
  const socket = yield* Effect.acquireRelease(
    Effect.callback<WebSocket>((resume) => {
      const one = new WebSocket(url)
      one.addEventListener("open", () => resume(Effect.succeed(one)))
      one.addEventListener("error", () => resume(Effect.die(new Error(`no inspector at ${url}`))))
    }),
    (one) => Effect.sync(() => one.close())
  )
  socket.addEventListener("message", ({ data }) => {
    const answer = JSON.parse(String(data)) as Answer
    waiting.get(answer.id)?.(answer)
    waiting.delete(answer.id)
  })
  const request = (method: string, params: object = {}) =>
    Effect.callback<Answer>((resume) => {
      const id = ++last
      waiting.set(id, (answer) => resume(Effect.succeed(answer)))
      socket.send(JSON.stringify({ id, method, params }))
    })
  const evaluate = (expression: string) =>
    Effect.map(
      // Makes `require` available.
      request("Runtime.evaluate", { expression: `JSON.stringify(${expression})`, includeCommandLineAPI: true }),
      ({ result }): unknown => JSON.parse(result?.result?.value ?? "{}")
    )
  const holdings = Effect.gen(function* () {
    for (let count = 0; count < collections; count++) yield* request("HeapProfiler.collectGarbage")
    const { code, external, handles, heapUsed, rss } = (yield* evaluate(question)) as Found
    return { live: heapUsed + external - code, code, rss, handles }
  })
  const busyness = Effect.map(
    evaluate("(({ active, idle }) => ({ active, idle }))(performance.eventLoopUtilization())"),
    (found) => found as Busyness
  )
  return { holdings, busyness }
})
