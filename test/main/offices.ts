import { fileURLToPath } from "node:url"
import { it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { a2c, type Cli, everythingServer, startServer, temporaryFile } from "./processes.ts"

const fromHere = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const notes = fromHere("../../src/main/demo/notesServer.ts")
const contract = fromHere("../fixtures/contractServer.ts")

/** A window of Computer `lab`. */
export const board = "window://lab.a2c.demo.notes/board?priority=80"

/** Three minutes: up to ten processes start on a busy machine. */
const testTimeout = 180_000

/** Timeout of the expected output of a Computer. */
const saying = "60 seconds"

/** A test of processes, on the real clock. */
export const live = (title: string, body: Effect.Effect<void, unknown, Scope.Scope>) =>
  it.live(title, () => Effect.scoped(body), testTimeout)

/** Starts a Server and returns its URL. */
export const server = Effect.map(startServer(), ({ url }) => url)

/** Starts a Computer that has joined an office, with its shell on stdin. */
export const computer = Effect.fnUntraced(function* (
  url: string,
  office: string,
  name: string,
  mcpServers: object,
  ...more: ReadonlyArray<string>
) {
  const config = yield* temporaryFile("mcp.json", JSON.stringify({ mcpServers }))
  const options = ["--server", url, "--name", name, "--config", config, "--approve", "*", ...more]
  const process = yield* a2c("computer", ...options, "--interactive")
  yield* process.types(`join ${office}`)
  yield* process.prints(`joined office ${office}`)
  return process
})

/** An office of two Computers with real MCP servers. */
export interface Office {
  /** Environment variables for its members. */
  readonly environment: {
    readonly A2C_SERVER: string
    readonly A2C_OFFICE: string
    readonly A2C_NAME: string
  }
  /** Has many tools, and one that takes a minute. */
  readonly desk: Cli
  /** Has a board of notes. */
  readonly lab: Cli
}

/** Starts an office and its Server. */
export const office: Effect.Effect<Office, never, Scope.Scope> = Effect.gen(function* () {
  const url = yield* server
  const desk = yield* computer(url, "team", "desk", {
    everything: { command: process.execPath, args: [everythingServer] },
    contract: { command: process.execPath, args: [contract, "stdio"] }
  })
  const lab = yield* computer(url, "team", "lab", { notes: { command: process.execPath, args: [notes] } })
  return { desk, lab, environment: { A2C_SERVER: url, A2C_OFFICE: "team", A2C_NAME: "bridge" } }
})

/** Publishes an office over HTTP. */
export const published = Effect.fnUntraced(function* ({ environment }: Office) {
  const { A2C_NAME, A2C_OFFICE, A2C_SERVER } = environment
  const place = ["--server", A2C_SERVER, "--office", A2C_OFFICE, "--name", A2C_NAME]
  const bridge = yield* a2c("agent", ...place, "mcp", "--http", "0")
  const printed = yield* bridge.prints("publishing office team at ")
  return { bridge, url: printed.replace("publishing office team at ", "") }
})

/**
 * Waits until the MCP server of desk counts these calls of its tool `wait`: started, and cancelled. The shell of the
 * Computer calls it, since another Agent may be in the office.
 */
export const waits = (
  { desk }: Office,
  { cancelled, started }: { readonly started: number; readonly cancelled: number }
) => {
  const counts = `"started":${started},"cancelled":${cancelled},`
  const asking = Effect.forever(Effect.andThen(desk.types("call waits"), Effect.sleep("50 millis")))
  return Effect.timeoutOrElse(Effect.raceFirst(desk.prints(counts), asking), {
    duration: saying,
    orElse: () => Effect.die(new Error(`desk never counted ${counts}, last ${desk.stdout().split("\n").at(-2)}`))
  })
}
