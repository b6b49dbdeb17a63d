import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { toCallHooks } from "../../../src/application/bridge/callHooks.ts"
import type { McpProgress } from "../../../src/application/ports/McpSession.ts"
import type { CallStatus } from "../../../src/domain/model/CallStatus.ts"

const progressOf = (...statuses: ReadonlyArray<CallStatus>) =>
  Effect.gen(function* () {
    const reported: Array<McpProgress> = []
    const onProgress = (progress: McpProgress) => Effect.sync(() => void reported.push(progress))
    const { onStatus = () => Effect.void } = toCallHooks({ onProgress })
    yield* Effect.forEach(statuses, onStatus, { discard: true })
    return reported
  })

describe("the MCP progress of a call", () => {
  it.effect("states why the call waits, and who decided", () =>
    Effect.gen(function* () {
      const reported = yield* progressOf(
        { _tag: "WaitingForServers", computer: "desk", servers: ["notes"] },
        { _tag: "WaitingForConsent", computer: "desk" },
        { _tag: "Decided", computer: "desk", isAllowed: true, by: "operator:ann" },
        { _tag: "Decided", computer: "desk", isAllowed: false, by: "rule" }
      )
      assert.deepStrictEqual(reported, [
        { progress: 0, message: "waiting for MCP servers that start at desk: notes" },
        { progress: 0, message: "waiting for an approval at desk" },
        { progress: 0, message: "allowed by operator:ann" },
        { progress: 0, message: "denied by rule" }
      ])
    })
  )

  it.effect("passes the progress of the tool on", () =>
    Effect.gen(function* () {
      const reported = yield* progressOf(
        { _tag: "Progressing", computer: "desk", progress: 2, total: 3, message: "half" },
        { _tag: "WaitingForConsent", computer: "desk" },
        { _tag: "Progressing", computer: "desk", progress: 3 }
      )
      assert.deepStrictEqual(reported, [
        { progress: 2, total: 3, message: "half" },
        { progress: 2, message: "waiting for an approval at desk" },
        { progress: 3 }
      ])
    })
  )
})
