import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { descendants, familyOf, gone, kill } from "../processes.ts"
import {
  a2c,
  type Cli,
  cli,
  everythingServer,
  node,
  onTerminal,
  startGateway,
  startServer,
  temporaryFile
} from "./processes.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

const mcpServers = { everything: { command: process.execPath, args: [everythingServer, "stdio"] } }

const configFile = temporaryFile("mcp.json", JSON.stringify({ mcpServers }))

/** Sends SIGHUP to the process on a terminal, as often as given. */
const hangUp = ({ pid }: Cli, times = 1) =>
  Effect.sync(() => {
    const [child = Number.NaN] = descendants(pid)
    for (let count = 0; count < times; count++) kill(child, "SIGHUP")
  })

/** The processes below a pseudo-terminal, two at least; killed when the scope closes. */
const familyBelow = ({ pid }: Cli) =>
  Effect.acquireRelease(familyOf(pid, 2), (family) =>
    Effect.sync(() => {
      for (const member of family) kill(member, "SIGKILL")
    })
  )

/** An Agent that watches an office, a Computer `desk` on a terminal there, and the processes of the Computer. */
const watchedDesk = Effect.gen(function* () {
  const { url } = yield* startServer()
  const watching = yield* a2c("agent", "--server", url, "--office", "o", "watch", "--log-level", "debug")
  yield* watching.prints("joined office", "stderr")
  const place = ["--server", url, "--office", "o", "--name", "desk"]
  const desk = yield* onTerminal([cli, "computer", ...place, "--config", yield* configFile])
  yield* desk.prints("joined office o as desk")
  return { watching, desk, family: yield* familyBelow(desk) }
})

/** The command line of a device, and the file of its configuration. */
const deviceCommand = Effect.gen(function* () {
  const { address } = yield* startGateway()
  const file = yield* configFile
  return { file, connect: ["devices", "connect", "--to", address, "--name", "desk", "--config", file] }
})

describe("SIGHUP on a terminal", () => {
  it.live("ends a Computer in order with code 129", () =>
    Effect.gen(function* () {
      const { desk, family, watching } = yield* watchedDesk
      yield* hangUp(desk)
      assert.strictEqual(yield* desk.ended, 129)
      yield* watching.prints("computer desk left")
      yield* gone(family)
    })
  )

  it.live("ends a Computer and its MCP servers when the terminal closes", () =>
    Effect.gen(function* () {
      const { desk, family, watching } = yield* watchedDesk
      yield* desk.signal("SIGKILL")
      yield* watching.prints("computer desk left")
      yield* gone(family)
    })
  )

  it.live("ends the shell of a Computer with code 129", () =>
    Effect.gen(function* () {
      const shell = ["computer", "--interactive", "--name", "desk", "--config", yield* configFile]
      const desk = yield* onTerminal([cli, ...shell])
      yield* desk.prints("desk> ")
      yield* hangUp(desk)
      assert.strictEqual(yield* desk.ended, 129)
    })
  )

  it.live("ends a device with code 129", () =>
    Effect.gen(function* () {
      const { connect } = yield* deviceCommand
      const device = yield* onTerminal([cli, ...connect])
      yield* device.prints("registered ")
      yield* hangUp(device)
      assert.strictEqual(yield* device.ended, 129)
    })
  )

  it.live("shuts a Server down gracefully, also when it is sent twice", () =>
    Effect.gen(function* () {
      const serving = yield* onTerminal([cli, "server", "--port", "0"])
      yield* serving.prints("listening on ")
      yield* hangUp(serving, 2)
      assert.strictEqual(yield* serving.ended, 0)
      assert.include(serving.stdout(), "server stopped")
    })
  )
})

describe("SIGHUP without a terminal", () => {
  it.live("reloads the configuration of a device", () =>
    Effect.gen(function* () {
      const { connect, file } = yield* deviceCommand
      const device = yield* a2c(...connect, "--no-watch")
      yield* device.prints("registered ")
      writeFileSync(file, JSON.stringify({ mcpServers: {} }))
      yield* device.signal("SIGHUP")
      yield* device.prints("configuration reloaded", "stderr")
      yield* device.prints("registered 0 services")
    })
  )

  it.live("reloads the API keys of a Server, and keeps a Server without files running", () =>
    Effect.gen(function* () {
      const keys = join(yield* temporaryFolder, "keys.json")
      writeFileSync(keys, JSON.stringify({ keys: [] }))
      const { process: guarded } = yield* startServer(["--api-keys", keys])
      const { process: open } = yield* startServer()
      yield* guarded.signal("SIGHUP")
      yield* open.signal("SIGHUP")
      yield* guarded.prints("API keys reloaded", "stderr")
      yield* open.signal("SIGTERM")
      assert.strictEqual(yield* open.ended, 0)
      assert.include(open.stderr(), "signal=SIGTERM")
    })
  )

  it.live("ends no command that had something to reload, also when it arrives during the end", () =>
    Effect.gen(function* () {
      const hangups = new URL("../../src/main/config/hangup.ts", import.meta.url).href
      const program = yield* node([
        "--input-type=module",
        "--eval",
        `import { Effect, Stream } from "effect"
        import { hangup, reloadRequests } from "${hangups}"
        Effect.runFork(Effect.andThen(hangup, Effect.sync(() => process.exit(129))))
        await Effect.runPromise(Effect.timeoutOption(Stream.runDrain(reloadRequests), 10))
        process.kill(process.pid, "SIGHUP")
        setTimeout(() => process.exit(0), 100)`
      ])
      assert.strictEqual(yield* program.ended, 0, program.stderr())
    })
  )

  it.live("ends a command that has nothing to reload in order with code 129", () =>
    Effect.gen(function* () {
      const { process: gateway } = yield* startGateway()
      const tools = yield* a2c("tools", "serve", yield* temporaryFolder, "--port", "0")
      yield* tools.prints("serving ")
      yield* gateway.signal("SIGHUP")
      yield* tools.signal("SIGHUP")
      assert.deepStrictEqual(yield* Effect.all([gateway.ended, tools.ended]), [129, 129])
    })
  )
})
