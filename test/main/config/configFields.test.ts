import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { describe } from "@effect/vitest"
import { Context, Effect, Layer, Option, Stream } from "effect"
import { publishHttp } from "../../../src/adapters/mcp/publish/http/publishHttp.ts"
import { makeMemoryMcpServer } from "../../../src/adapters/memory/MemoryMcp.ts"
import { Computer } from "../../../src/application/computer/Computer.ts"
import type { ServerConfig } from "../../../src/domain/config/computerConfig.ts"
import { readConfigFiles } from "../../../src/main/config/configFiles.ts"
import { computerLayer } from "../../../src/main/layers/computerLayer.ts"
import { tool } from "../../conformance/members.ts"
import { testOptions, type OptionRow } from "../promise/optionRows.ts"
import { folderOfTests } from "../../folderOfTests.ts"
import { portDefaults } from "../../portDefaults.ts"

const folder = folderOfTests()

const read = Effect.fnUntraced(function* (entry: object) {
  const file = join(folder, "mcp.json")
  const parameters = { type: "stdio", server_parameters: { command: "x" } }
  writeFileSync(file, JSON.stringify({ servers: { alpha: { ...parameters, ...entry } } }))
  const { setup } = yield* readConfigFiles([file])
  return setup ?? (yield* Effect.die("the file is invalid"))
}, Effect.provide(NodeServices.layer))

/** A row of a field that is read: its value in the configuration. */
const field = (
  given: object,
  outcomes: readonly [unknown, unknown],
  select: (server: ServerConfig | undefined) => unknown
): OptionRow<object> => [
  given,
  outcomes,
  (entry) => Effect.runPromise(Effect.map(read(entry), ({ config }) => select(config.servers["alpha"])))
]

/** A row of a field that changes a running server with the tools `echo` and `other`. */
const running = (
  given: object,
  outcomes: readonly [unknown, unknown],
  select: (computer: Computer["Service"]) => Effect.Effect<unknown>
): OptionRow<object> => [
  given,
  outcomes,
  (entry) =>
    Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const { connect } = yield* makeMemoryMcpServer({ tools: [tool("echo"), tool("other")] })
          const { url } = yield* publishHttp(yield* connect, { port: 0, token: "allowAll" })
          const setup = yield* read({ type: "streamable", server_parameters: { url }, ...entry })
          const layer = computerLayer({ url: "http://127.0.0.1:1", name: "desk", ...setup })
          const computer = Context.get(yield* Layer.build(Layer.provide(layer, portDefaults)), Computer)
          const states = yield* Stream.runHead(
            Stream.filter(computer.changes, (all) => [...all.values()].every(({ _tag }) => _tag !== "Starting"))
          )
          Option.getOrThrow(states)
          return yield* select(computer)
        })
      )
    )
]

const stateOf = ({ servers }: Computer["Service"]) => Effect.map(servers, (states) => states.get("alpha")?._tag)

const toolsOf = ({ catalogue }: Computer["Service"]) => Effect.map(catalogue, ({ entries }) => [...entries.keys()])

/** A row for each field of a server, beside its key: the compiler asks for one of each further field. */
const rows: { readonly [Field in Exclude<keyof ServerConfig, "name">]-?: OptionRow<object> } = {
  displayName: field({ name: "Alpha" }, [undefined, "Alpha"], (server) => server?.displayName),
  type: field(
    { type: "sse", server_parameters: { url: "http://a.example" } },
    ["stdio", "sse"],
    (server) => server?.type
  ),
  bundleId: field({ bundle_id: "com-example-x" }, [false, true], (server) => server?.bundleId === "com-example-x"),
  parameters: field({ server_parameters: { command: "x", args: ["y"] } }, [false, true], (server) =>
    JSON.stringify(server?.parameters).includes('"y"')
  ),
  vrl: field({ vrl: ".a = 1" }, [null, ".a = 1"], (server) => server?.vrl),
  idle: field({ idle: "7s" }, [undefined, "7s"], (server) => server?.idle),
  disabled: running({ disabled: true }, ["Ready", "Stopped"], stateOf),
  lifecycle: running({ lifecycle: "lazy" }, ["Ready", "Idle"], stateOf),
  forbiddenTools: running({ forbidden_tools: ["echo"] }, [["echo", "other"], ["other"]], toolsOf),
  toolMeta: running(
    { tool_meta: { echo: { alias: "say" } } },
    [
      ["echo", "other"],
      ["say", "other"]
    ],
    toolsOf
  ),
  defaultToolMeta: running({ default_tool_meta: { auto_apply: true } }, [false, true], ({ catalogue }) =>
    Effect.map(catalogue, ({ entries }) => entries.get("echo")?.autoApply)
  )
}

describe("a field of a configuration file", () => {
  testOptions<object>(rows)
})
