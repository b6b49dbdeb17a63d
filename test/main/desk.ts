import { ConfigProvider, Console, Duration, Effect, Layer, Logger, Result } from "effect"
import * as JsonSchemaValidator from "../../src/adapters/jsonSchema/JsonSchemaValidator.ts"
import * as MemoryMcp from "../../src/adapters/memory/MemoryMcp.ts"
import * as MemoryCluster from "../../src/adapters/memory/MemoryCluster.ts"
import * as MemoryTransport from "../../src/adapters/memory/MemoryTransport.ts"
import { Computer } from "../../src/application/computer/Computer.ts"
import { ComputerSettings } from "../../src/application/computer/ComputerSettings.ts"
import { Inputs } from "../../src/application/computer/inputs/Inputs.ts"
import { Server } from "../../src/application/server/lifecycle/Server.ts"
import { parseComputerConfig } from "../../src/domain/config/parseConfig.ts"
import { definedOnly } from "../../src/domain/objects.ts"
import type { LineName } from "../../src/domain/wire/lines.ts"
import { runCommands } from "../../src/main/cli/repl/runRepl.ts"
import { resource, textResult, tool } from "../conformance/members.ts"
import { Authenticator } from "../../src/application/ports/Authenticator.ts"
import { Observability } from "../../src/application/server/observability/Observability.ts"
import { portDefaults } from "../portDefaults.ts"

/**
 * A Computer named pc-1 in memory with a Server. Its servers `files` and `notes` need the time `startsIn` to start;
 * `files` can lack subscriptions.
 */
const greeting = { name: "greet", description: "Greets", arguments: [{ name: "who", required: true }, { name: "how" }] }

export const desk = (
  options: {
    readonly config?: object
    readonly office?: string
    readonly protocol?: LineName
    readonly startsIn?: Duration.Duration
    readonly subscribe?: boolean
    readonly approvers?: ComputerSettings["approvers"]
    /** The server `notes` has a tool `ask` that asks for a name, and gives the answer. */
    readonly requests?: boolean
  } = {}
) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const files = yield* MemoryMcp.makeMemoryMcpServer({
        capabilities: { subscribe: options.subscribe ?? true },
        tools: [
          tool("read", (args) => Effect.succeed(textResult(JSON.stringify(args))), {
            inputSchema: {
              type: "object",
              properties: { path: { type: "string" }, lines: { type: "integer" } }
            }
          }),
          tool("wipe"),
          tool("break", () => Effect.succeed(textResult("it broke", { isError: true }))),
          tool("hang", () => Effect.never)
        ],
        resources: [resource("window://files/a?priority=9", ["A"]), resource("window://files/b", ["B"])]
      })
      const schema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] }
      const request = tool("ask", (_, context) =>
        Effect.map(context.ask({ mode: "form", message: "Who?", schema }), (answer) =>
          textResult(JSON.stringify(answer))
        )
      )
      const notes = yield* MemoryMcp.makeMemoryMcpServer({
        capabilities: { prompts: true },
        answer: (method, params) => {
          if (method !== "prompts/get") return Effect.succeed({ prompts: [greeting] })
          const text = `Greet ${JSON.stringify(params["arguments"])}`
          return Effect.succeed({ messages: [{ role: "user", content: { type: "text", text } }] })
        },
        tools: [tool("write"), ...(options.requests === true ? [request] : [])]
      })
      const stdio = { type: "stdio", server_parameters: { command: "memory" } }
      const slowly = ({ connect }: MemoryMcp.MemoryMcpServer) => ({
        connect: Effect.delay(connect, options.startsIn ?? Duration.zero)
      })
      const config = {
        servers: { files: { ...stdio, forbidden_tools: ["wipe"] }, notes: stdio },
        ...options.config
      }
      return Computer.layer({
        name: "pc-1",
        config: Result.getOrThrow(parseComputerConfig(config)),
        ...definedOnly({ office: options.office, protocol: options.protocol })
      }).pipe(
        Layer.provide(
          MemoryMcp.layer(
            new Map([
              ["files", slowly(files)],
              ["notes", slowly(notes)]
            ])
          )
        ),
        Layer.provide(JsonSchemaValidator.layer),
        Layer.provide(portDefaults),
        Layer.provideMerge(Inputs.layer()),
        Layer.provide(
          Layer.succeed(ComputerSettings, {
            ...ComputerSettings.defaultValue(),
            changeThrottle: Duration.zero,
            approvers: options.approvers ?? []
          })
        ),
        Layer.provide(
          Server.layer.pipe(
            Layer.provide([MemoryCluster.layer, Authenticator.layerAllowAll, Observability.layerNone]),
            Layer.provideMerge(MemoryTransport.layer())
          )
        ),
        Layer.provideMerge(ConfigProvider.layer(ConfigProvider.fromEnv({ env: { A2C_SMCP_SIZE: "M" } }))),
        Layer.provide(Logger.layer([]))
      )
    })
  ).pipe(Layer.fresh)

/** Output of commands on stdout and stderr, and whether they fail. */
export const print = Effect.fnUntraced(function* (...lines: ReadonlyArray<string>) {
  const printed = { stdout: "", stderr: "" }
  const output = {
    ...globalThis.console,
    log: (text: string) => void (printed.stdout += `${text}\n`),
    error: (text: string) => void (printed.stderr += `${text}\n`)
  }
  const outcome = yield* Effect.result(Effect.provideService(runCommands(lines), Console.Console, output))
  return { ...printed, failure: Result.isFailure(outcome) ? outcome.failure.message : undefined }
})
