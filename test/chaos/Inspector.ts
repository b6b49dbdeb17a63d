import { Effect, type Scope } from "effect"

/** What a process holds. */
export interface Holdings {
  /** Bytes of objects and buffers that are still needed, without compiled code. */
  readonly live: number
  /** Bytes of compiled code: it grows for many minutes, each time that something has become worth it. */
  readonly code: number
  /** Bytes. */
  readonly rss: number
  /** Sockets, timers and what else keeps a process from ending. */
  readonly handles: number
}

/** How long a process has been busy and idle, in milliseconds since it began. */
interface Busyness {
  readonly active: number
  readonly idle: number
}

/** Looks into another process. */
export interface Inspector {
  /** What it holds after everything that can be collected has been. */
  readonly holdings: Effect.Effect<Holdings>
  readonly busyness: Effect.Effect<Busyness>
}

interface Answer {
  readonly id: number
  readonly result?: { readonly result?: { readonly value?: string } }
}

/** Where V8 keeps compiled code: machine code, and bytecode with what belongs to it. */
const codeSpaces = ["code_space", "code_large_object_space", "trusted_space", "trusted_large_object_space"]

/** What a process is asked: the answer is an {@link Found}. */
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

/** What the first collection finalises is only free after the second. */
const collections = 2

/** Looks into a process by its inspector; the URL is what `node --inspect` says on stderr. */
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
  const ask = (method: string, params: object = {}) =>
    Effect.callback<Answer>((resume) => {
      const id = ++last
      waiting.set(id, (answer) => resume(Effect.succeed(answer)))
      socket.send(JSON.stringify({ id, method, params }))
    })
  const evaluate = (expression: string) =>
    Effect.map(
      // With these it can require modules.
      ask("Runtime.evaluate", { expression: `JSON.stringify(${expression})`, includeCommandLineAPI: true }),
      ({ result }): unknown => JSON.parse(result?.result?.value ?? "{}")
    )
  const holdings = Effect.gen(function* () {
    for (let count = 0; count < collections; count++) yield* ask("HeapProfiler.collectGarbage")
    const { code, external, handles, heapUsed, rss } = (yield* evaluate(question)) as Found
    return { live: heapUsed + external - code, code, rss, handles }
  })
  const busyness = Effect.map(
    evaluate("(({ active, idle }) => ({ active, idle }))(performance.eventLoopUtilization())"),
    (found) => found as Busyness
  )
  return { holdings, busyness }
})
