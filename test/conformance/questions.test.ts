import { assert, describe } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Result, type Scope, Stream } from "effect"
import { makeMemoryMcpServer } from "../../src/adapters/memory/MemoryMcp.ts"
import { makeOfficeMcpSession } from "../../src/application/bridge/OfficeMcpSession.ts"
import { Agent } from "../../src/application/agent/Agent.ts"
import type { ComputerSettings } from "../../src/application/computer/ComputerSettings.ts"
import type { CallStatus } from "../../src/domain/model/CallStatus.ts"
import type { InputAnswer, InputRequest } from "../../src/domain/model/InputRequest.ts"
import { firstText } from "../firstText.ts"
import { agentIn, bodiesOf } from "./joinedMembers.ts"
import { agentUnderTest, computerUnderTest, firstOpen, noneOpen, textResult, tool } from "./members.ts"
import { buildWorld, conform, conformInMemory, type World } from "./World.ts"

const form: InputRequest = {
  mode: "form",
  message: "Who?",
  schema: { type: "object", properties: { name: { type: "string", minLength: 2 } }, required: ["name"] }
}

const page: InputRequest = { mode: "url", message: "Sign in", url: "https://example.com/" }

/** A tool that asks, and gives the answers. */
const asking = (...requests: ReadonlyArray<InputRequest>) =>
  tool("ask", (_, { ask: request }) =>
    Effect.map(Effect.forEach(requests, request), (answers) => textResult(JSON.stringify(answers)))
  )

const officeWith = Effect.fnUntraced(function* (
  world: World,
  settings: Partial<ComputerSettings> = {},
  requests = asking(form),
  configure: object = {}
) {
  const servers = { alpha: { tools: [requests] } }
  return yield* computerUnderTest(world, { servers, configure: { alpha: configure }, settings })
})

const call = { computer: "pc-1", tool: "ask" }

const accepted = { action: "accept", content: { name: "Ada" } } as const

const start = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<Fiber.Fiber<A, E>, never, Scope.Scope> =>
  Effect.forkScoped(effect, { startImmediately: true })

/** The published office of a world, whose client answers all calls, and what it is asked. */
const published = Effect.fnUntraced(function* (world: World, answer: InputAnswer = { action: "decline" }) {
  const agent = yield* agentUnderTest(world)
  const session = yield* Effect.provideService(makeOfficeMcpSession({ office: "O1" }), Agent, agent)
  yield* agent.settled
  const requests: Array<InputRequest> = []
  const responder = {
    modes: ["form" as const],
    answer: (request: InputRequest) => Effect.sync(() => (requests.push(request), answer))
  }
  return { session, requests, responder }
})

const answersOf = (result: Parameters<typeof firstText>[0]): ReadonlyArray<InputAnswer> =>
  JSON.parse(firstText(result)) as ReadonlyArray<InputAnswer>

describe("question of an MCP server", () => {
  conform("is answered by the program of the calling Agent, which needs no permission to approve", (world) =>
    Effect.gen(function* () {
      yield* officeWith(world, {}, asking(form, page))
      const agent = yield* agentUnderTest(world)
      const requests: Array<InputRequest> = []
      const statuses: Array<CallStatus> = []
      const result = yield* agent.callTool({
        ...call,
        onStatus: (status) => Effect.sync(() => void statuses.push(status)),
        onInput: (request) =>
          Effect.sync(
            () => (requests.push(request), request.mode === "form" ? accepted : { action: "decline" as const })
          )
      })
      assert.deepStrictEqual(answersOf(result), [accepted, { action: "decline" }])
      assert.deepStrictEqual(requests, [form, page])
      assert.deepStrictEqual(
        // The result may overtake the last status.
        statuses.slice(0, 3).map((status) => [status._tag, status._tag === "Decided" && status.isAllowed]),
        [
          ["WaitingForConsent", false],
          ["Decided", true],
          ["WaitingForConsent", false]
        ]
      )
    })
  )

  conform("is declined at once for an Agent that answers none", (world) =>
    Effect.gen(function* () {
      yield* officeWith(world)
      const agent = yield* agentUnderTest(world)
      const statuses: Array<CallStatus> = []
      const onStatus = (status: CallStatus) => Effect.sync(() => void statuses.push(status))
      const result = yield* agent.callTool({ ...call, onStatus })
      assert.deepStrictEqual(answersOf(result), [{ action: "decline" }])
      assert.isEmpty(statuses)
    })
  )

  conform("is declined at once for an Agent of another implementation, which sees no other message", (world) =>
    Effect.gen(function* () {
      yield* officeWith(world)
      const plain = yield* agentIn(world, "O1")
      const request = { agent: "agent-1", req_id: "r1", computer: "pc-1", tool_name: "ask", params: {}, timeout: 20 }
      const result = yield* plain.request("client:tool_call", request)
      assert.include(JSON.stringify(result), "decline")
      assert.deepStrictEqual(bodiesOf(plain, "notify:update_tool_call"), [])
    })
  )

  conform("is asked again after an invalid answer, with the error", (world) =>
    Effect.gen(function* () {
      yield* officeWith(world)
      const agent = yield* agentUnderTest(world)
      const messages: Array<string> = []
      const result = yield* agent.callTool({
        ...call,
        onInput: ({ message }) =>
          Effect.sync(() => {
            messages.push(message)
            return messages.length === 1 ? { action: "accept" as const, content: { name: "A" } } : accepted
          })
      })
      assert.deepStrictEqual(answersOf(result), [accepted])
      assert.match(messages[1] ?? "", /\/name: .*\n\nWho\?$/)
    })
  )

  conform("is listed for its Agent, and answered once", (world) =>
    Effect.gen(function* () {
      yield* officeWith(world)
      const agent = yield* agentUnderTest(world)
      const calling = yield* start(agent.callTool({ ...call, onInput: () => Effect.never }))
      const open = yield* firstOpen(agent)
      assert.deepInclude(open, { requester: "agent-1", state: "open", input: form })
      const invalid = yield* Effect.flip(agent.decideApproval("pc-1", open.id, { action: "allow", scope: "once" }))
      assert.strictEqual(invalid._tag === "ProtocolError" && invalid.code, 400)
      const answer = { action: "allow", scope: "once", content: { name: "Ada" } } as const
      const results = yield* Effect.all(
        [
          Effect.result(agent.decideApproval("pc-1", open.id, answer)),
          Effect.result(agent.decideApproval("pc-1", open.id, { action: "deny" }))
        ],
        { concurrency: "unbounded" }
      )
      assert.lengthOf(results.filter(Result.isSuccess), 1)
      assert.lengthOf(answersOf(yield* Fiber.join(calling)), 1)
      yield* noneOpen(agent)
    })
  )

  conformInMemory("does not count as execution time of the call", (world) =>
    Effect.gen(function* () {
      const computer = yield* officeWith(world, { approvalTimeout: Duration.minutes(1) }, asking(form, form))
      const agent = yield* agentUnderTest(world)
      const calling = yield* start(agent.callTool({ ...call, timeout: 1, onInput: () => Effect.never }))
      for (let count = 0; count < 2; count++) {
        const open = yield* firstOpen(agent)
        yield* world.elapse("20 seconds")
        assert.isUndefined(calling.pollUnsafe())
        yield* computer.decideApproval(open.id, { action: "allow", scope: "once", content: { name: "Ada" } })
        yield* Stream.runHead(Stream.filter(agent.approvals, (all) => all.every(({ id }) => id !== open.id)))
      }
      assert.deepStrictEqual(answersOf(yield* Fiber.join(calling)), [accepted, accepted])
    })
  )

  conform("is withdrawn from the program of the Agent when another responder answers", (world) =>
    Effect.gen(function* () {
      const computer = yield* officeWith(world)
      const agent = yield* agentUnderTest(world)
      const withdrawn = yield* Deferred.make<void>()
      const onInput = () => Effect.onInterrupt(Effect.never, () => Deferred.succeed(withdrawn, undefined))
      const calling = yield* start(agent.callTool({ ...call, onInput }))
      const open = yield* firstOpen(agent)
      yield* computer.decideApproval(open.id, { action: "deny" }, "terminal")
      yield* Deferred.await(withdrawn)
      assert.deepStrictEqual(answersOf(yield* Fiber.join(calling)), [{ action: "decline" }])
    })
  )

  conform("ends when its Agent cancels the call", (world) =>
    Effect.gen(function* () {
      const computer = yield* officeWith(world)
      const agent = yield* agentUnderTest(world)
      const calling = yield* start(agent.callTool({ ...call, onInput: () => Effect.never }))
      yield* firstOpen(computer)
      yield* Fiber.interrupt(calling)
      yield* noneOpen(computer)
      yield* noneOpen(agent)
    })
  )

  conform("reaches the client of a published office", (world) =>
    Effect.gen(function* () {
      yield* officeWith(world)
      const { responder, session } = yield* published(world, accepted)
      const result = yield* session.callTool("pc-1__ask", {}, { responder })
      assert.include(JSON.stringify(result), "Ada")
      const unanswered = yield* session.callTool("pc-1__ask", {})
      assert.include(JSON.stringify(unanswered), "decline")
    })
  )
})

/** A form whose integers are rounded, and what of it is asked. */
const large = 2 ** 53
const rounded: InputRequest = {
  ...form,
  schema: { type: "object", properties: { id: { type: "integer", default: large, minimum: 1, maximum: 2 * large } } }
}
const exact: InputRequest = {
  ...form,
  schema: { type: "object", properties: { id: { type: "integer", minimum: 1 } } }
}

describe("question with rounded integers", () => {
  conform("reaches the program of the calling Agent without them", (world) =>
    Effect.gen(function* () {
      yield* officeWith(world, {}, asking(rounded))
      const agent = yield* agentUnderTest(world)
      const requests: Array<InputRequest> = []
      const onInput = (request: InputRequest) =>
        Effect.sync(() => (requests.push(request), { action: "decline" as const }))
      yield* agent.callTool({ ...call, onInput })
      assert.deepStrictEqual(requests, [exact])
    })
  )

  conform("reaches the client of a published office without them", (world) =>
    Effect.gen(function* () {
      yield* officeWith(world, {}, asking(rounded))
      const { requests, responder, session } = yield* published(world)
      yield* session.callTool("pc-1__ask", {}, { responder })
      assert.deepStrictEqual(requests, [exact])
    })
  )

  conformInMemory("passes an office inside an office without them", (world) =>
    Effect.gen(function* () {
      yield* officeWith(world, {}, asking(rounded))
      const { session } = yield* published(world)
      const outer = yield* buildWorld("memory", {})
      const alpha = { ...(yield* makeMemoryMcpServer()), connect: Effect.succeed(session) }
      yield* computerUnderTest(outer, { servers: { alpha } })
      const { requests, responder, session: client } = yield* published(outer)
      yield* client.callTool("pc-1__pc-1__ask", {}, { responder })
      assert.deepStrictEqual(requests, [exact])
    })
  )
})

describe("approval of a call of a published office", () => {
  const consent = { default_tool_meta: null }
  const plain = tool("ask", () => Effect.succeed(textResult("ran")))

  const calling = Effect.fnUntraced(function* (world: World, answer: InputAnswer, settings: Partial<ComputerSettings>) {
    const computer = yield* officeWith(world, settings, plain, consent)
    const { requests, responder, session } = yield* published(world, answer)
    const fiber = yield* start(session.callTool("pc-1__ask", { text: "x" }, { responder }))
    yield* firstOpen(computer)
    // A status of an approval is sent after a delay.
    yield* world.elapse("1 second")
    return { requests, fiber }
  })

  conform("is a form for its client, where the owner lets Agents decide", (world) =>
    Effect.gen(function* () {
      const decision: InputAnswer = { action: "accept", content: { decision: "allow" } }
      const { requests, fiber } = yield* calling(world, decision, { approvers: ["agent"] })
      assert.include(JSON.stringify(yield* Fiber.join(fiber)), "ran")
      assert.lengthOf(requests, 1)
      assert.include(requests[0]?.message, '"pc-1"')
      assert.include(requests[0]?.message, '"text": "x"')
    })
  )

  conform("is denied by its client", (world) =>
    Effect.gen(function* () {
      const decision: InputAnswer = { action: "accept", content: { decision: "deny" } }
      const { fiber } = yield* calling(world, decision, { approvers: ["agent"] })
      assert.include(JSON.stringify(yield* Fiber.join(fiber)), "not confirmed")
    })
  )

  conform("is not asked of its client where only others decide", (world) =>
    Effect.gen(function* () {
      const decision: InputAnswer = { action: "accept", content: { decision: "allow" } }
      const { requests, fiber } = yield* calling(world, decision, {
        approvers: ["page"],
        confirm: () => Effect.delay(Effect.succeed(false), "1 second")
      })
      yield* world.elapse("2 seconds")
      assert.include(JSON.stringify(yield* Fiber.join(fiber)), "not confirmed")
      assert.isEmpty(requests)
    })
  )
})
