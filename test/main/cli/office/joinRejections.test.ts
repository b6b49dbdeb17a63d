import { existsSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Result, Stream } from "effect"
import { Agent } from "../../../../src/application/agent/Agent.ts"
import { parseComputerConfig } from "../../../../src/domain/config/parseConfig.ts"
import { agentLayer } from "../../../../src/main/layers/agentLayer.ts"
import { computerLayer } from "../../../../src/main/layers/computerLayer.ts"
import { temporaryFile } from "../../processes.ts"
import { a2cInProcess, messageOf, serverInProcess } from "../inProcess.ts"
import { portDefaults } from "../../../portDefaults.ts"

/** A Server whose office has an Agent. */
const occupied = Effect.gen(function* () {
  const url = yield* serverInProcess
  const scope = yield* Effect.scope
  const holder = Context.get(yield* Layer.build(agentLayer({ url, office: "o", name: "thinker" })), Agent)
  const agent = (...args: ReadonlyArray<string>) => a2cInProcess("agent", "--server", url, "--office", "o", ...args)
  return { url, agent, holder, scope }
})

const emptyConfig = Result.getOrThrow(parseComputerConfig({ servers: {} }))

describe("a taken place", () => {
  it.live("is reported with the office, the Agent, since when it is connected, and what to do", () =>
    Effect.gen(function* () {
      const { agent } = yield* occupied
      const [first = "", ...rest] = messageOf((yield* agent("members")).failure).split("\n")
      assert.match(first, /^Office 'o' has an Agent already: 'thinker', connected for [\d.]+ m?s\.$/)
      for (const flag of ["--wait", "--take-over", "--office", "--name"]) assert.include(rest.join("\n"), flag)
    })
  )

  it.live("is reported to an MCP host with the way for several hosts", () =>
    Effect.gen(function* () {
      const { agent } = yield* occupied
      const { failure } = yield* agent("mcp")
      assert.match(messageOf(failure), /\nSeveral MCP hosts .* run 'a2c agent mcp --http 7080' once/)
      assert.deepInclude(failure, { code: "join_rejected" })
    })
  )

  it.live("is replaced by --take-over of the same identity only, and ends the other Agent", () =>
    Effect.gen(function* () {
      const { agent, holder } = yield* occupied
      assert.include(messageOf((yield* agent("--take-over", "members")).failure), "'thinker'")
      const { failure, stdout } = yield* agent("--take-over", "--name", "thinker", "members")
      assert.isUndefined(failure)
      assert.include(stdout, "thinker")
      const isOver = Stream.filter(holder.status, ({ _tag }) => _tag === "Failed")
      const [status] = yield* Stream.runCollect(Stream.take(isOver, 1))
      assert.isTrue(status?._tag === "Failed" && status.error._tag === "MemberReplaced")
    })
  )

  it.live("is waited for with --wait, for at most its time", () =>
    Effect.gen(function* () {
      const { agent } = yield* occupied
      const { failure, stderr } = yield* agent("--wait", "1", "members")
      assert.include(messageOf(failure), "'thinker'")
      assert.match(stderr, /^[^\n]*waiting until the place is free[^\n]*thinker[^\n]*\n$/)
    })
  )

  it.live("is reported to a Computer with the office, the name, and what to do", () =>
    Effect.gen(function* () {
      const { url } = yield* occupied
      const started = `${yield* temporaryFile("journal", "")}.started`
      const program = `require("node:fs").writeFileSync(${JSON.stringify(started)}, "")`
      const server = { type: "stdio", server_parameters: { command: process.execPath, args: ["-e", program] } }
      const config = yield* temporaryFile("mcp.json", JSON.stringify({ servers: { server } }))
      const place = ["--server", url, "--office", "o", "--name", "desk", "--config", config]
      yield* Layer.build(
        Layer.provide(computerLayer({ url, office: "o", name: "desk", config: emptyConfig }), portDefaults)
      )
      const { failure } = yield* a2cInProcess("computer", ...place)
      assert.match(messageOf(failure), /^Office 'o' has a Computer of this name already: 'desk', connected for \d/)
      assert.include(messageOf(failure), "--name")
      assert.isFalse(existsSync(started), "no MCP server has started")
    })
  )
})
