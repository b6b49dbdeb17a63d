import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../src/adapters/memory/MemoryMcp.ts"
import { Computer } from "../../../src/application/computer/Computer.ts"
import { makeComputerMcpSession } from "../../../src/application/computer/ComputerMcpSession.ts"
import type { ProgressReport } from "../../../src/application/computer/ComputerSettings.ts"
import { Policy } from "../../../src/application/ports/approvals/Policy.ts"
import { AuditLog } from "../../../src/application/ports/AuditLog.ts"
import { type Body, jsonBody } from "../../../src/application/ports/Body.ts"
import type { InputResponder } from "../../../src/application/ports/McpSession.ts"
import type { Link } from "../../../src/application/ports/Transport.ts"
import type { Caller } from "../../../src/domain/approvals/Caller.ts"
import { asObject, type JsonObject } from "../../../src/domain/json.ts"
import type { InputRequest } from "../../../src/domain/model/InputRequest.ts"
import type { PolicyCall } from "../../../src/domain/policy/Rule.ts"
import { textResult, tool } from "../../conformance/members.ts"
import { joined, nextApproval, places, provingLink } from "./testComputer.ts"

const form: InputRequest = { mode: "form", message: "Who?", schema: { type: "object" } }
const params = { path: "a", deep: { list: [1, null] } }
const answer = { name: "Ada" }

/**
 * A Computer with one tool, which needs consent, reports its progress and asks a question. `seen` has what the parts around
 * a call learn about it.
 */
const observed = Effect.fnUntraced(function* ([protocol, lifecycle]: (typeof places)[number]) {
  const seen = {
    policy: [] as Array<PolicyCall>,
    audit: [] as Array<JsonObject>,
    progress: [] as Array<ProgressReport>,
    server: [] as Array<JsonObject>,
    reports: [] as Array<JsonObject>
  }
  const work = tool(
    "work",
    (given, { ask, progress }) =>
      Effect.gen(function* () {
        seen.server.push(given)
        yield* progress({ progress: 1, total: 2, message: "half" })
        return textResult(JSON.stringify(yield* ask(form)))
      }),
    { annotations: { readOnlyHint: true } }
  )
  const report = (body: Body) => seen.reports.push(asObject(Result.getOrThrow(body.value())))
  const server: Link = {
    ...provingLink,
    request: (event, body, timeout) => {
      if (event !== "server:update_tool_call") return provingLink.request(event, body, timeout)
      report(body)
      return Effect.succeed([jsonBody({ wait_seconds: 300 })])
    },
    notify: (event, body) => Effect.sync(() => void (event === "server:update_tool_call" && report(body)))
  }
  const decide = (call: PolicyCall) => {
    seen.policy.push({ ...call })
    return { action: "ask", by: "rule 7", reason: "it writes" } as const
  }
  const policy = Layer.succeed(Policy, { decide: (call) => Effect.sync(() => decide(call)), decideNow: decide })
  const { computer, request } = yield* joined(
    {
      servers: { alpha: yield* makeMemoryMcpServer({ tools: [work] }) },
      configure: { alpha: { lifecycle, tool_meta: { work: { alias: "do" } } } },
      settings: { approvers: ["agent"], onProgress: (step) => Effect.sync(() => void seen.progress.push(step)) },
      policy
    },
    Effect.succeed(server),
    protocol
  ).pipe(Effect.provideService(AuditLog, { record: ({ fields }) => void seen.audit.push(fields), lostCount: () => 0 }))
  yield* TestClock.adjust("1 second")
  const [name = assert.fail()] = (yield* computer.catalogue).entries.keys()
  const session = yield* Effect.provideService(makeComputerMcpSession("host"), Computer, computer)
  const next = Effect.andThen(TestClock.adjust("1 second"), nextApproval(computer))
  return { computer, name, next, request, seen, session }
})
type Observed = Effect.Success<ReturnType<typeof observed>>

const responder: InputResponder = {
  modes: ["form"],
  answer: (question) =>
    Effect.succeed(question.mode === "form" ? { action: "accept", content: answer } : { action: "decline" })
}

interface Way {
  readonly start: (given: Observed) => Effect.Effect<unknown, unknown>
  readonly caller: Caller
  /** The name of the caller. */
  readonly name: string
  /** Its name as that of an approver. */
  readonly by: string
  /** The statuses of the call are reported to the Server. */
  readonly isReported?: true
}

const ofAgent =
  (agent: string): Way["start"] =>
  ({ name, request }) =>
    request("client:tool_call", { agent, req_id: "r1", tool_name: name, params, timeout: 60, input_modes: ["form"] })

const taskOf =
  (agent: string): Way["start"] =>
  ({ name, request }) =>
    Effect.gen(function* () {
      const start = { id: "r1", tool: name, params, timeout: 60, inputModes: ["form"] }
      yield* request("client:mcp", { agent, method: "tasks/start", params: start })
      yield* Effect.sleep("10 seconds")
      const task = asObject(yield* request("client:mcp", { agent, method: "tasks/get", params: { id: "r1" } }))
      return asObject(task["result"])["result"]
    })

const brain = { caller: { _tag: "Agent", name: "brain", membership: 1 }, name: "brain", by: "agent brain" } as const
const ann = {
  caller: { _tag: "Operator", subject: "ann", membership: 1 },
  name: "operator:ann",
  by: "operator:ann"
} as const
const host = { caller: { _tag: "Local", name: "host" }, name: "host", by: "host" } as const

const ways: { readonly [title: string]: Way } = {
  "a call of an Agent": { ...brain, start: ofAgent("brain"), isReported: true },
  "a call of an operator": { ...ann, start: ofAgent("operator:ann"), isReported: true },
  "a task of an Agent": { ...brain, start: taskOf("brain") },
  "a call of a program of the Computer": {
    ...host,
    start: ({ computer, name }) => computer.callTool({ tool: name, params, requester: "host", responder })
  },
  "a call of a client of the Computer": {
    ...host,
    start: ({ name, session }) => session.callTool(name, params, { responder })
  }
}

describe("the description of a call", () => {
  it.effect.each(
    Object.entries(ways).flatMap(([title, way]) =>
      places.map((place) => [`is complete for ${title} (${place.join(", ")})`, way, place] as const)
    )
  )("%s", ([, way, place]) =>
    Effect.gen(function* () {
      const given = yield* observed(place)
      const { computer, name: tool, next, request, seen } = given
      const calling = yield* Effect.forkScoped(way.start(given))
      const approval = yield* next
      const { argumentsDigest, id, reqId, toolDigest } = approval
      yield* computer.decideApproval(id, { action: "allow", scope: "once" }, "bob")
      const isLocal = way.caller._tag === "Local"
      const question = isLocal ? undefined : yield* next
      if (question !== undefined) {
        const decision = { agent: way.name, approval_id: question.id, action: "allow", content: answer }
        yield* request("client:decide_approval", decision)
      }
      yield* TestClock.adjust("10 seconds")

      const result = asObject(yield* Fiber.join(calling))
      assert.deepStrictEqual(result["content"], [
        { type: "text", text: JSON.stringify({ action: "accept", content: answer }) }
      ])
      if (!isLocal) assert.strictEqual(reqId, "r1")
      const [line] = place
      const call = { computer: "pc", server: "alpha", tool, shortName: "do", params }
      const asked = {
        ...call,
        reqId,
        office: "o",
        line,
        caller: way.caller,
        requester: way.name,
        argumentsDigest,
        toolDigest
      }
      assert.deepStrictEqual<unknown>(approval, {
        ...asked,
        id,
        requestedAt: 1000,
        expiresAt: 301_000,
        askedBy: "rule 7",
        reason: "it writes"
      })
      if (question !== undefined) {
        const times = { requestedAt: 2000, expiresAt: 302_000 }
        const expected = { ...asked, ...times, id: question.id, askedBy: "MCP server", input: form }
        assert.deepStrictEqual<unknown>(question, expected)
      }
      const decided = {
        type: "decision",
        computer: "pc",
        req_id: reqId,
        server: "alpha",
        tool,
        original_name: "work",
        caller_kind: way.caller._tag.toLowerCase(),
        office: "o",
        agent: way.name,
        action: "allow",
        scope: "once"
      }
      const report = { computer: "pc", agent: way.name, req_id: reqId }
      const waiting = {
        ...report,
        status: "waiting_for_consent",
        mcp_server: "alpha",
        tool_name: tool,
        wait_seconds: 300
      }
      assert.deepStrictEqual<unknown>(seen, {
        policy: [
          { ...call, subject: way.name, office: "o", originalName: "work", annotations: { readOnlyHint: true } }
        ],
        audit: [
          { ...decided, approval: id, by: "bob" },
          { ...decided, approval: question?.id ?? seen.audit[1]?.["approval"], by: way.by, question: "form" }
        ],
        progress: [{ progress: 1, total: 2, message: "half", reqId, tool }],
        server: [params],
        reports:
          way.isReported === undefined
            ? []
            : [
                { ...waiting, approval_id: id },
                { ...report, status: "decided", allowed: true, decided_by: "bob" },
                { ...report, status: "progress", progress: 1, total: 2, message: "half" },
                { ...waiting, approval_id: question?.id, question: true },
                { ...report, status: "decided", allowed: true, decided_by: way.by, question: true }
              ]
      })
    })
  )
})
