import { Effect, type Scope } from "effect"

/** What a process holds, in bytes. */
export interface Memory {
  /** Objects and buffers that are still needed. */
  readonly live: number
  readonly rss: number
}

interface Answer {
  readonly id: number
  readonly result?: { readonly result?: { readonly value?: string } }
}

/** What the first collection finalises is only free after the second. */
const collections = 2

/**
 * Asks a process by its inspector (the URL is what `node --inspect` says on stderr) what it holds after everything that
 * can be collected has been.
 */
export const openInspector = Effect.fnUntraced(function* (
  url: string
): Effect.fn.Return<{ readonly memory: Effect.Effect<Memory> }, never, Scope.Scope> {
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
  const memory = Effect.gen(function* () {
    for (let count = 0; count < collections; count++) yield* ask("HeapProfiler.collectGarbage")
    const { result } = yield* ask("Runtime.evaluate", { expression: "JSON.stringify(process.memoryUsage())" })
    const { external, heapUsed, rss } = JSON.parse(result?.result?.value ?? "{}") as NodeJS.MemoryUsage
    return { live: heapUsed + external, rss }
  })
  return { memory }
})
