import { readdir } from "node:fs/promises"
import { connect } from "node:net"
import { Deferred, Effect, Queue, Stream } from "effect"
import { makeMemoryMcpServer } from "../../../src/adapters/memory/MemoryMcp.ts"
import { type ServeToolsOptions, serveTools } from "../../../src/adapters/packs/http/ToolServer.ts"
import { PackHost } from "../../../src/application/packs/PackHost.ts"
import type { PackView } from "../../../src/application/packs/PackTable.ts"
import { type PackCall, PackError } from "../../../src/application/ports/packs/PackLoader.ts"
import type { JsonObject } from "../../../src/domain/json.ts"
import type { PackRoute } from "../../../src/domain/packs/PackManifest.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"
import { type TestBody, liveWith } from "../../testWith.ts"

const route = (tool: string, more: Partial<PackRoute> = {}): PackRoute => ({
  endpoint: `/tools/${tool}`,
  tool,
  useForm: false,
  params: { type: "object", properties: { text: { type: "string" } } },
  files: {},
  ...more
})

const routes = [
  route("echo"),
  route("session", { requiresSession: true }),
  route("form", { useForm: true, files: { file: { multiple: false }, more: { multiple: true } } }),
  route("needs", {
    useForm: true,
    params: { type: "object", required: ["file"], properties: { file: {} } },
    files: { file: { multiple: false } }
  })
]

const pack: PackView = {
  name: "demo",
  path: "/packs/demo",
  description: "Says what it got",
  usage: "Give it something",
  status: {
    _tag: "Ready",
    tools: [
      ...routes.map(({ params, tool }) => ({
        name: tool,
        description: `The tool ${tool}`,
        inputSchema: params
      })),
      { name: "hidden", description: "Has no route", inputSchema: { type: "object" } }
    ],
    routes,
    warnings: ["the tool 'hidden' has no route"]
  }
}

const packs: ReadonlyArray<PackView> = [
  { ...pack, name: "malformed", status: { _tag: "Failed", reason: "it does not compile" } },
  pack
]

const problem = { loc: ["body", "text"], msg: "Field required", type: "missing" }

/** Outcomes of calls by their name. */
const outcomes: {
  readonly [name: string]: Effect.Effect<JsonObject, PackError>
} = {
  params: Effect.fail(new PackError({ reason: "invalid_params", message: "wrong", problems: [problem] })),
  unknown: Effect.fail(new PackError({ reason: "unknown_tool", message: "There is no tool 'echo' any more" })),
  failed: Effect.fail(new PackError({ reason: "failed", message: "the disk is full" })),
  crashed: Effect.fail(new PackError({ reason: "crashed", message: "the pack was killed" })),
  unusable: Effect.fail(new PackError({ reason: "unusable", message: "the pack does not load" })),
  timeout: Effect.fail(new PackError({ reason: "timed_out", message: "no result within 120 seconds" })),
  busy: Effect.fail(new PackError({ reason: "busy", message: "too many calls" })),
  die: Effect.die(new Error("secret internals")),
  blocks: Effect.succeed({
    content: [
      { type: "text", text: "a" },
      { type: "image", data: "AA==", mimeType: "image/png" },
      { type: "resource", resource: { uri: "x://y", text: "z" } }
    ],
    structuredContent: { a: 1 },
    isError: true,
    _meta: { m: 1 }
  })
}

/** A call as the host receives it. */
export type Got = Omit<PackCall, "tool"> & { readonly endpoint: string }

/** A tool server, its host, and its upload folder. */
export interface Served {
  readonly url: string
  /** Received calls, in order. */
  readonly calls: Queue.Queue<Got>
  /** Completes when a hanging call is interrupted. */
  readonly interrupted: Deferred.Deferred<void>
  /** Completes hanging calls. */
  readonly release: Deferred.Deferred<void>
  readonly folder: string
  /** Names in the upload folder. */
  readonly uploads: Effect.Effect<ReadonlyArray<string>>
}

/** A host whose calls follow their parameter `do`: an outcome, or `hang`; otherwise they echo. */
export const served = Effect.fnUntraced(function* (options: Partial<ServeToolsOptions> = {}) {
  const calls = yield* Queue.unbounded<Got>()
  const interrupted = yield* Deferred.make<void>()
  const release = yield* Deferred.make<void>()
  const server = yield* makeMemoryMcpServer({
    tools: [
      {
        definition: { name: "echo", inputSchema: { type: "object" } },
        run: (params) => Effect.succeed({ content: [{ type: "text", text: JSON.stringify(params) }] })
      }
    ]
  })
  const hosted = routes.map((one) => ({ pack, route: one }))
  const host = PackHost.of({
    packs: Effect.succeed(packs),
    changes: Stream.empty,
    routes: () => hosted,
    route: (endpoint) => hosted.find((one) => one.route.endpoint === endpoint),
    call: Effect.fnUntraced(function* ({ route: { endpoint } }, call) {
      yield* Queue.offer(calls, { ...call, endpoint })
      const { do: what } = call.params
      if (what === "hang") {
        yield* Effect.onInterrupt(Deferred.await(release), () => Deferred.succeed(interrupted, undefined))
      }
      return typeof what === "string" && outcomes[what] !== undefined
        ? yield* outcomes[what]
        : { content: [{ type: "text", text: JSON.stringify(call.params) }] }
    }),
    session: yield* server.connect,
    rescan: Effect.void
  })
  const folder = yield* temporaryFolder
  const { url } = yield* Effect.provideService(
    serveTools({ port: 0, key: "allowAll", uploadFolder: folder, ...options }),
    PackHost,
    host
  )
  const world: Served = {
    url,
    calls,
    interrupted,
    release,
    folder,
    // A file can disappear during the listing, which is then repeated.
    uploads: Effect.orDie(
      Effect.retry(
        Effect.tryPromise(() => readdir(folder, { recursive: true })),
        { times: 100 }
      )
    )
  }
  return world
})

/** Runs a test with a tool server. */
export const live = (title: string, options: Partial<ServeToolsOptions>, body: TestBody<Served>) =>
  liveWith(served(options))(title, body)

export interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

export const request = (url: string, init: RequestInit = {}): Effect.Effect<Answered> =>
  Effect.promise(async () => {
    const answer = await fetch(url, init)
    const text = await answer.text()
    const isJson = answer.headers.get("content-type")?.includes("json") === true
    const body: unknown = isJson && text !== "" ? JSON.parse(text) : text
    return { status: answer.status, headers: answer.headers, body }
  })

/** Sends a request in the background; interruption disconnects the client. */
export const asking = (url: string, init: RequestInit) =>
  Effect.forkChild(Effect.tryPromise((signal) => fetch(url, { ...init, signal })))

/** Calls a tool with JSON. */
export const post = (
  url: string,
  body: unknown,
  headers: Record<string, string> = { "Content-Type": "application/json" }
) => request(url, { method: "POST", headers, body: typeof body === "string" ? body : JSON.stringify(body) })

/** Sends raw bytes, and collects the reply until the server closes the connection. */
export const raw = (url: string, text: string): Effect.Effect<string> =>
  Effect.callback((resume) => {
    const { hostname, port } = new URL(url)
    const chunks: Array<Buffer> = []
    const socket = connect(Number(port), hostname, () => socket.write(text))
    socket.on("data", (chunk) => chunks.push(chunk))
    // Sending can fail after the server has closed its end; only the reply matters.
    socket.on("error", () => undefined)
    socket.on("close", () => resume(Effect.succeed(Buffer.concat(chunks).toString())))
    return Effect.sync(() => socket.destroy())
  })
