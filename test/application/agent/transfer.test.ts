import { assert, describe } from "@effect/vitest"
import { ConfigProvider, Context, Duration, Effect, Fiber, Layer, Result, type Scope } from "effect"
import { makeMemoryLandingFolder } from "../../adapters/uploads/MemoryLandingFolder.ts"
import * as MemoryMcp from "../../../src/adapters/memory/MemoryMcp.ts"
import { Agent } from "../../../src/application/agent/Agent.ts"
import { Computer } from "../../../src/application/computer/Computer.ts"
import { ComputerSettings } from "../../../src/application/computer/ComputerSettings.ts"
import { Inputs } from "../../../src/application/computer/inputs/Inputs.ts"
import { referenceOf } from "../../../src/domain/blobs/binaryContent.ts"
import { parseComputerConfig } from "../../../src/domain/config/parseConfig.ts"
import type { LineName } from "../../../src/domain/wire/lines.ts"
import { tool } from "../../conformance/members.ts"
import { type Conditions, conform, type World } from "../../conformance/World.ts"
import { portDefaults } from "../../portDefaults.ts"

const picture = new Uint8Array(600_000).map((_, index) => (index * 31) % 251)
const data = Buffer.from(picture).toString("base64")
const show = tool("show", () =>
  Effect.succeed({ content: [{ type: "image", data, mimeType: "image/png" }], isError: false })
)

/** An office of an Agent and a Computer that accepts uploads, on a protocol line. */
const transferOffice = Effect.fnUntraced(function* (
  world: World,
  protocol: LineName
): Effect.fn.Return<
  { readonly agent: Agent["Service"]; readonly computer: Computer["Service"]; readonly files: Map<string, Uint8Array> },
  never,
  Scope.Scope
> {
  const alpha = yield* MemoryMcp.makeMemoryMcpServer({ tools: [show] })
  const { files, layer } = makeMemoryLandingFolder()
  const server = {
    type: "stdio",
    server_parameters: { command: "memory" },
    default_tool_meta: { auto_apply: true }
  }
  const config = Result.getOrThrow(parseComputerConfig({ servers: { alpha: server } }))
  const place = { office: "O1", protocol }
  const computer = Computer.layer({ ...place, name: "pc-1", config, uploads: { folder: "/uploads" } }).pipe(
    Layer.provide(MemoryMcp.layer(new Map([["alpha", alpha]]))),
    Layer.provide([Inputs.layer(), portDefaults]),
    Layer.provide(layer),
    Layer.provide(
      Layer.succeed(ComputerSettings, { ...ComputerSettings.defaultValue(), changeThrottle: Duration.zero })
    ),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: {} })))
  )
  const context = yield* Agent.layer({ ...place, name: "agent-1" }).pipe(
    Layer.provideMerge(computer),
    Layer.provide(world.client),
    Layer.provide(world.logging),
    Layer.fresh,
    Layer.build,
    Effect.orDie
  )
  return { agent: Context.get(context, Agent), computer: Context.get(context, Computer), files }
})

const showTool = (protocol: LineName) => (protocol === "0.2" ? "show" : "alpha__show")

const onLine = (
  title: string,
  protocol: LineName,
  body: (office: Effect.Success<ReturnType<typeof transferOffice>>) => Effect.Effect<void, unknown, Scope.Scope>,
  conditions: Conditions = {}
) =>
  conform(`${title} on line ${protocol}`, (world) => Effect.flatMap(transferOffice(world, protocol), body), conditions)

describe("large picture of a tool", () => {
  for (const protocol of ["0.2", "0.3", "0.4"] as const) {
    onLine("arrives as the tool made it", protocol, ({ agent }) =>
      Effect.gen(function* () {
        const result = yield* agent.callTool({ computer: "pc-1", tool: showTool(protocol) })
        assert.deepStrictEqual(result.content, [{ type: "image", data, mimeType: "image/png" }])
      })
    )
  }

  onLine(
    "arrives through a Server that accepts smaller messages only",
    "0.2",
    ({ agent }) =>
      Effect.gen(function* () {
        const result = yield* agent.callTool({ computer: "pc-1", tool: "show" })
        assert.deepStrictEqual(result.content, [{ type: "image", data, mimeType: "image/png" }])
      }),
    { maxMessageBytes: 100_000 }
  )

  onLine("stays a handle that the Agent can read later", "0.3", ({ agent }) =>
    Effect.gen(function* () {
      const kept = yield* agent.callTool({ computer: "pc-1", tool: "alpha__show", blobs: "keep" })
      const [block] = kept.content
      assert.deepInclude(block, { data: "", mimeType: "image/png" })
      const { bytes, mimeType } = yield* agent.blob("pc-1", (block && referenceOf(block)?.handle) ?? "")
      assert.strictEqual(mimeType, "image/png")
      assert.isTrue(Buffer.from(bytes).equals(picture))
    })
  )

  onLine("is gone for the next office of its Computer", "0.3", ({ agent, computer }) =>
    Effect.gen(function* () {
      const kept = yield* agent.callTool({ computer: "pc-1", tool: "alpha__show", blobs: "keep" })
      const [block] = kept.content
      yield* computer.leave
      yield* computer.join({ office: "O1", protocol: "0.3" })
      const error = yield* Effect.flip(agent.blob("pc-1", (block && referenceOf(block)?.handle) ?? ""))
      assert.deepInclude(error, { code: 4018, details: { reason: "gone" } })
    })
  )
})

describe("upload", () => {
  onLine("lands on the Computer as it was sent", "0.4", ({ agent, files }) =>
    Effect.gen(function* () {
      const file = yield* agent.putBlob("pc-1", picture, { nameHint: "../pictures/a.png" })
      assert.deepInclude(file, { landingPath: "/uploads/a.png", totalSize: picture.length })
      assert.deepStrictEqual([...files.keys()], ["/uploads/a.png"])
      assert.isTrue(Buffer.from(files.get("/uploads/a.png") ?? []).equals(picture))
    })
  )

  onLine(
    "lands through a Server that accepts smaller messages only",
    "0.4",
    ({ agent, files }) =>
      Effect.gen(function* () {
        const { landingPath } = yield* agent.putBlob("pc-1", picture)
        assert.isTrue(Buffer.from(files.get(landingPath) ?? []).equals(picture))
      }),
    { maxMessageBytes: 100_000 }
  )

  onLine("lands beside others of the same name", "0.4", ({ agent, files }) =>
    Effect.gen(function* () {
      const contents = [1, 2, 3].map((value) => new Uint8Array([value]))
      const landed = yield* Effect.forEach(contents, (bytes) => agent.putBlob("pc-1", bytes, { nameHint: "a" }), {
        concurrency: "unbounded"
      })
      assert.strictEqual(new Set(landed.map(({ landingPath }) => landingPath)).size, 3)
      assert.deepStrictEqual(
        landed.map(({ landingPath }) => files.get(landingPath)),
        contents
      )
    })
  )

  onLine("leaves nothing after its Computer has left the office", "0.4", ({ agent, computer, files }) =>
    Effect.gen(function* () {
      const sending = yield* Effect.forkChild(Effect.exit(agent.putBlob("pc-1", new Uint8Array(20_000_000))))
      while (files.size === 0) yield* Effect.yieldNow
      yield* computer.leave
      yield* Fiber.join(sending)
      assert.strictEqual(files.size, 0)
    })
  )

  onLine("fails at once on lines without uploads, naming those with them", "0.3", ({ agent }) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(agent.putBlob("pc-1", picture))
      assert.deepInclude(error, { _tag: "UploadFailed", reason: "unsupported" })
      assert.include(error.message, "connect with the protocol 0.4")
    })
  )

  onLine("fails at once without content", "0.4", ({ agent }) =>
    Effect.gen(function* () {
      assert.deepInclude(yield* Effect.flip(agent.putBlob("pc-1", new Uint8Array())), { code: 400 })
    })
  )
})
