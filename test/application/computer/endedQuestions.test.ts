import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Result } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../src/adapters/memory/MemoryMcp.ts"
import { jsonBody } from "../../../src/application/ports/Body.ts"
import { asObject } from "../../../src/domain/json.ts"
import type { InputRequest } from "../../../src/domain/model/InputRequest.ts"
import { textResult, tool } from "../../conformance/members.ts"
import { autoApply, joined, link, losable, openApprovals, setupOf } from "./testComputer.ts"

const form: InputRequest = { mode: "form", message: "Who?", schema: { type: "object" } }
const lifecycles = ["eager", "lazy"] as const

/** A Computer whose MCP server asks a question in a call of an Agent, which waits for the answer. */
const asking = Effect.fnUntraced(function* (lifecycle: (typeof lifecycles)[number]) {
  const alpha = yield* makeMemoryMcpServer({
    tools: [tool("work", (_, { ask }) => Effect.map(ask(form), (answer) => textResult(JSON.stringify(answer))))]
  })
  const { connect, lost } = yield* losable({
    ...link,
    request: (event) =>
      Effect.succeed(
        event === "server:update_tool_call" ? [jsonBody({ wait_seconds: 300 })] : [true, null].map(jsonBody)
      )
  })
  const configure = { alpha: { lifecycle, ...autoApply } }
  const { computer, receive, request } = yield* joined({ servers: { alpha }, configure }, connect)
  const call = (reqId: string) =>
    Effect.forkScoped(
      request("client:tool_call", { req_id: reqId, tool_name: "work", params: {}, timeout: 60, input_modes: ["form"] })
    )
  const nextId = Effect.gen(function* () {
    yield* TestClock.adjust("1 second")
    return (yield* openApprovals(computer))[0]?.id ?? assert.fail("no question")
  })
  const answer = (id: string) =>
    Effect.map(Effect.result(computer.decideApproval(id, { action: "allow", scope: "once", content: {} })), (result) =>
      Result.isFailure(result) ? [result.failure.code, result.failure.message] : result.success.state
    )
  return { alpha, answer, call, computer, configure, lost, nextId, receive }
})
type Asking = Effect.Success<ReturnType<typeof asking>>

const endings = {
  "the MCP server stops": ({ computer }: Asking) => computer.stop("alpha"),
  "the MCP server crashes": ({ alpha }: Asking) => alpha.crash("exit code 1"),
  "the MCP server starts again": ({ computer }: Asking) => computer.restart("alpha"),
  "the MCP server is removed": ({ computer }: Asking) => computer.reconfigure(setupOf([])),
  "the MCP server is changed": ({ computer, configure }: Asking) =>
    computer.reconfigure(
      setupOf(["alpha"], { configure: { alpha: { ...configure.alpha, server_parameters: { command: "other" } } } })
    ),
  "its call is cancelled": ({ receive }: Asking) => receive("notify:tool_call_cancel", { agent: "a", req_id: "r1" }),
  "the Agent leaves": ({ receive }: Asking) => receive("notify:leave_office", { office_id: "o", agent: "a" }),
  "the connection is lost": ({ lost }: Asking) => Deferred.succeed(lost, "gone"),
  "the Computer leaves": ({ computer }: Asking) => computer.leave
} satisfies { readonly [title: string]: (given: Asking) => Effect.Effect<unknown, unknown> }

/** After these endings the tool can be called again. */
const recovering: ReadonlyArray<string> = [
  "the MCP server crashes",
  "the MCP server starts again",
  "the MCP server is changed",
  "its call is cancelled",
  "the Agent leaves",
  "the connection is lost"
]

const cases = (Object.keys(endings) as ReadonlyArray<keyof typeof endings>).flatMap((title) =>
  lifecycles.map((lifecycle) => [title, lifecycle] as const)
)

describe("an open question", () => {
  it.effect.each(cases)("ends once %s, with its call (%s server)", ([title, lifecycle]) =>
    Effect.gen(function* () {
      const given = yield* asking(lifecycle)
      const { answer, call, computer, nextId } = given
      const calling = yield* call("r1")
      const id = yield* nextId
      yield* endings[title](given)
      yield* TestClock.adjust(0)
      assert.isEmpty(yield* openApprovals(computer))
      assert.strictEqual(asObject(yield* Fiber.join(calling))["isError"], true)
      assert.deepStrictEqual(yield* answer(id), [
        409,
        "The question was ended before a decision: the call was cancelled"
      ])
      if (!recovering.includes(title)) return
      yield* TestClock.adjust("10 seconds")
      const again = yield* call("r2")
      const next = yield* nextId
      assert.notStrictEqual(next, id)
      assert.strictEqual(yield* answer(next), "allowed")
      assert.strictEqual(asObject(yield* Fiber.join(again))["isError"], false)
    })
  )
})
