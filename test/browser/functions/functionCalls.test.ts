import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { lineNamed } from "../../../src/domain/wire/lines.ts"
import { formatVersion } from "../../../src/domain/wire/version.ts"
import type { InputRequest } from "../../../src/domain/model/InputRequest.ts"
import { errorCodeOf } from "../../../src/domain/tools/errorResults.ts"
import { agentUnderTest, firstOpen } from "../../conformance/members.ts"
import { firstText } from "../../firstText.ts"
import { assertRejected, bodiesOf, malformed, settled } from "../../conformance/joinedMembers.ts"
import { announced, assertFailed, conformInPlaces, scriptedAgent, textsOf } from "./functionOffice.ts"

const slow = { name: "slow", does: "wait" } as const
const start = <A, E>(effect: Effect.Effect<A, E>) => Effect.forkScoped(effect, { startImmediately: true })

conformInPlaces((conform) => {
  describe("tool call", () => {
    conform("cases 126, 130, 143: returns the result of the tool unchanged", ({ members }) =>
      Effect.gen(function* () {
        const block = (text: string) => ({ type: "text", text })
        const kept = { content: [block("kept")], _meta: { k: 1 }, extra: [1] }
        const [agent] = yield* members({
          tools: [
            { name: "echo", does: "echo", params: { type: "object", properties: { text: { type: "string" } } } },
            { name: "whole", value: kept },
            { name: "broken", value: { content: [block("oh no")], isError: true } }
          ]
        })
        const echoed = yield* agent.call("echo", { params: { text: "hi" } })
        assert.deepStrictEqual<unknown>(echoed, { content: [block("hi")], isError: false })
        assert.deepStrictEqual<unknown>(yield* agent.call("whole"), {
          content: [block("kept")],
          extra: [1],
          isError: false,
          meta: { k: 1 }
        })
        assert.deepStrictEqual<unknown>(yield* agent.call("broken"), { content: [block("oh no")], isError: true })
      })
    )

    conform("gives what a tool throws as the text of an error result", ({ members }) =>
      Effect.gen(function* () {
        const [agent] = yield* members({ tools: [{ name: "fail", does: "throw", value: "boom" }] })
        const result = yield* agent.call("fail")
        assert.isTrue(result.isError)
        assert.include(textsOf(result)[0], "boom")
      })
    )

    conform("validates arguments and structured results", ({ members }) =>
      Effect.gen(function* () {
        const object = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] }
        const [agent, computer] = yield* members({
          tools: [
            { name: "good", params: object, output: object, value: { n: 1 } },
            { name: "bad", output: object, value: { n: "one" } }
          ]
        })
        assert.deepStrictEqual((yield* agent.call("good", { params: { n: 2 } })).structuredContent, { n: 1 })
        const invalid = yield* agent.call("good", { params: { n: "two" } })
        assert.isTrue(invalid.isError)
        assert.include(textsOf(invalid)[0], "/n")
        assert.lengthOf(yield* computer.details("run good"), 1)
        assert.isTrue((yield* agent.call("bad")).isError)
      })
    )

    conform("cases 127, 188: rejects an unknown tool, and lists none", ({ members }) =>
      Effect.gen(function* () {
        const [agent] = yield* members()
        assertFailed(yield* agent.call("nope"), 4001)
        assert.deepStrictEqual(yield* agent.toolNames, [])
      })
    )

    conform("case 133: stops a call at its timeout", ({ members }) =>
      Effect.gen(function* () {
        const [agent, computer] = yield* members({ tools: [slow] })
        const result = yield* agent.call("slow", { timeout: 1 })
        assertFailed(result, 4004)
        assert.deepStrictEqual(textsOf(result), ["Tool call timeout"])
        assert.deepInclude(result.meta, { timeout: true, a2c_timeout: true })
        yield* computer.happened("abort slow")
      })
    )

    conform("cases 134, 137: rejects a call without a pattern and without a prompt", ({ members }) =>
      Effect.gen(function* () {
        const [agent, computer] = yield* members({ tools: [{ name: "t" }, { name: "free" }], approve: ["free"] })
        assertFailed(yield* agent.call("t"), 4005)
        assert.deepStrictEqual(yield* computer.details("run t"), [])
        assert.isFalse((yield* agent.call("free")).isError)
      })
    )

    conform("case 135: shows the call in the prompt, and runs it after approval", ({ members, toolName }) =>
      Effect.gen(function* () {
        const [agent, computer] = yield* members({
          tools: [{ name: "t", params: { type: "object" } }, { name: "free" }],
          approve: ["free"],
          confirm: [{ gives: true }]
        })
        assert.isFalse((yield* agent.call("t", { req_id: "r1", params: { x: 1 } })).isError)
        yield* agent.call("free")
        const prompts = yield* computer.details("confirm")
        assert.lengthOf(prompts, 1)
        assert.deepInclude(prompts[0], {
          computer: "pc-1",
          requester: "agent-1",
          reqId: "r1",
          server: "functions",
          tool: toolName("t"),
          shortName: "t",
          params: { x: 1 }
        })
      })
    )

    conform("case 136: treats a denial, an error and a timeout of the prompt as denial", ({ members }) =>
      Effect.gen(function* () {
        const [agent, computer] = yield* members({
          tools: [{ name: "t" }],
          approve: [],
          confirm: [{ gives: false }, "throws", "waits"]
        })
        for (const timeout of [60, 60, 1]) assertFailed(yield* agent.call("t", { timeout }), 4005)
        assert.deepStrictEqual(yield* computer.details("run t"), [])
      })
    )

    conform("decides by rules as data before patterns", ({ members }) =>
      Effect.gen(function* () {
        const rules = [{ action: "deny", tool: "t", reason: "not from an agent" }]
        const [agent, computer] = yield* members({ tools: [{ name: "t" }], policy: { rules } })
        const result = yield* agent.call("t")
        assertFailed(result, 4005)
        assert.include(textsOf(result)[0], "not from an agent")
        assert.deepStrictEqual(yield* computer.details("run t"), [])
      })
    )

    conform("cases 140, 141, 142: runs a repeated request once", ({ members }) =>
      Effect.gen(function* () {
        const [agent, computer] = yield* members({ tools: [slow, { name: "other" }] })
        const request = agent.call("slow", { req_id: "r1" })
        const [first, second] = [yield* start(request), yield* start(request)]
        yield* computer.happened("run slow")
        yield* computer.open("slow")
        const results = yield* Fiber.joinAll([first, second])
        assert.isFalse(results[0]?.isError)
        assert.deepStrictEqual(results[1], results[0])
        assert.deepStrictEqual(yield* request, results[0])
        assert.lengthOf(yield* computer.details("run slow"), 1)
        assertRejected([yield* agent.call("other", { req_id: "r1" })], 400)
        assertRejected([yield* agent.call("slow", { req_id: "r1", params: { x: 1 } })], 400)
      })
    )

    conform(
      "case 152: keeps all connections open after a result over the limit",
      ({ members }) =>
        Effect.gen(function* () {
          const [agent] = yield* members({ tools: [{ name: "big", value: "x".repeat(200_000) }, { name: "small" }] })
          const result = yield* agent.call("big")
          assertFailed(result, 4003)
          assert.include(textsOf(result)[0], "exceeds")
          assert.isFalse((yield* agent.call("small")).isError)
        }),
      () => ({ maxMessageBytes: 100_000 })
    )
  })

  describe("cancellation", () => {
    const assertCancelled = (result: { readonly isError: boolean; readonly meta?: object }) => {
      assert.isTrue(result.isError)
      assert.deepInclude(result.meta, { a2c_cancelled: true, a2c_cancel_reason: "agent_requested" })
    }

    conform("cases 159, 160, 161: stops the cancelled call only, once", ({ members }) =>
      Effect.gen(function* () {
        const [agent, computer] = yield* members({
          tools: [
            { name: "one", does: "wait" },
            { name: "two", does: "wait" }
          ]
        })
        const one = yield* start(agent.call("one", { req_id: "r1" }))
        const two = yield* start(agent.call("two", { req_id: "r2" }))
        yield* computer.happened("run one")
        yield* computer.happened("run two")
        yield* agent.cancel("r1")
        assertCancelled(yield* Fiber.join(one))
        yield* computer.happened("abort one")
        yield* computer.open("two")
        const result = yield* Fiber.join(two)
        assert.deepStrictEqual(textsOf(result), ["two"])
        yield* agent.cancel("r2")
        yield* settled([agent])
        assert.deepStrictEqual(yield* agent.call("two", { req_id: "r2" }), result)
        assert.deepStrictEqual(yield* computer.details("abort two"), [])
      })
    )

    conform("case 162: stops only at the Computer that runs the call", ({ computer, members }) =>
      Effect.gen(function* () {
        const [agent, here] = yield* members({ tools: [{ name: "here", does: "wait" }] })
        const there = yield* computer({ name: "pc-2", tools: [{ name: "there", does: "wait" }] })
        const first = yield* start(agent.call("here", { req_id: "r1" }))
        const second = yield* start(agent.call("there", { req_id: "r2", computer: "pc-2" }))
        yield* here.happened("run here")
        yield* there.happened("run there")
        yield* agent.cancel("r1")
        assertCancelled(yield* Fiber.join(first))
        yield* there.open("there")
        assert.isFalse((yield* Fiber.join(second)).isError)
      })
    )

    conform("case 163: cancels a call that waits for confirmation", ({ members }) =>
      Effect.gen(function* () {
        const [agent, computer] = yield* members({ tools: [{ name: "t" }], approve: [], confirm: ["waits"] })
        const asking = yield* start(agent.call("t", { req_id: "r1" }))
        yield* computer.happened("confirm")
        yield* agent.cancel("r1")
        assertCancelled(yield* Fiber.join(asking))
        assert.deepStrictEqual(yield* computer.details("run t"), [])
      })
    )

    conform("stops the calls of an Agent that disconnects", ({ members }) =>
      Effect.gen(function* () {
        const [agent, computer] = yield* members({ tools: [slow] })
        yield* start(Effect.exit(agent.call("slow")))
        yield* computer.happened("run slow")
        yield* agent.close
        yield* computer.happened("abort slow")
      })
    )
  })

  describe("status of a call", () => {
    const notification = "notify:update_tool_call"

    conform("says that the call waits for consent", ({ computer, line, world }) =>
      Effect.gen(function* () {
        const page = yield* computer({ tools: [{ name: "t" }], approve: [], confirm: ["waits"] })
        const agent = yield* scriptedAgent(world, line, "O1", "agent-1", ["call_status"])
        const calling = yield* start(agent.call("t", { req_id: "r1" }))
        yield* page.happened("confirm")
        const waiting = yield* agent.receive(notification)
        assert.deepInclude(waiting, { computer: "pc-1", req_id: "r1", status: "waiting_for_consent" })
        yield* agent.cancel("r1")
        yield* Fiber.join(calling)
      })
    )

    conform("has the progress of the tool", ({ computer, line, world }) =>
      Effect.gen(function* () {
        const steps = [{ progress: 1, total: 2, message: "half" }]
        const page = yield* computer({ tools: [{ name: "steps", does: "progress", value: steps }] })
        const agent = yield* scriptedAgent(world, line, "O1", "agent-1", ["call_status"])
        const calling = yield* start(agent.call("steps", { req_id: "r1" }))
        const progressing = yield* agent.receive(notification)
        assert.deepInclude(progressing, { computer: "pc-1", req_id: "r1", progress: 1, total: 2, message: "half" })
        yield* page.open("steps")
        assert.deepStrictEqual(textsOf(yield* Fiber.join(calling)), ["steps"])
      })
    )

    conform("sends no status to an Agent of another implementation", ({ members }) =>
      Effect.gen(function* () {
        const steps = [{ progress: 1 }]
        const [agent, computer] = yield* members({ tools: [{ name: "steps", does: "progress", value: steps }] })
        const calling = yield* start(agent.call("steps"))
        yield* computer.happened("run steps")
        yield* computer.open("steps")
        yield* Fiber.join(calling)
        assert.deepStrictEqual(bodiesOf(agent, notification), [])
      })
    )
  })

  describe("approval of a call", () => {
    const consent = { approve: [], approvers: ["agent"], tools: [{ name: "t" }] } as const

    conform("is given by the program of its Agent", ({ computer, line, toolName, world }) =>
      Effect.gen(function* () {
        const page = yield* computer(consent)
        const agent = yield* agentUnderTest(world, { protocol: line })
        const calling = yield* start(agent.callTool({ computer: "pc-1", tool: toolName("t") }))
        const { id, requester } = yield* firstOpen(agent)
        assert.strictEqual(requester, "agent-1")
        assert.deepStrictEqual(yield* page.details("run t"), [])
        yield* agent.decideApproval("pc-1", id, { action: "allow", scope: "once" })
        assert.strictEqual(firstText(yield* Fiber.join(calling)), "t")
      })
    )

    conform("is denied with a reason, which the caller sees", ({ computer, line, toolName, world }) =>
      Effect.gen(function* () {
        const page = yield* computer(consent)
        const agent = yield* agentUnderTest(world, { protocol: line })
        const calling = yield* start(agent.callTool({ computer: "pc-1", tool: toolName("t") }))
        const { id } = yield* firstOpen(agent)
        yield* agent.decideApproval("pc-1", id, { action: "deny", reason: "not on a Friday" })
        const result = yield* Fiber.join(calling)
        assert.strictEqual(errorCodeOf(result), 4005)
        assert.include(firstText(result), "not on a Friday")
        assert.deepStrictEqual(yield* page.details("run t"), [])
      })
    )
  })

  describe("question of a tool", () => {
    const form = { message: "Who?", schema: { type: "object", properties: { name: { type: "string", minLength: 2 } } } }
    const tools = [{ name: "ask", does: "ask", value: form } as const]
    const answersOf = (texts: ReadonlyArray<string>) => texts.map((text): unknown => JSON.parse(text))

    conform("is declined at once without a responder", ({ members }) =>
      Effect.gen(function* () {
        const [agent] = yield* members({ tools })
        assert.deepStrictEqual(answersOf(textsOf(yield* agent.call("ask"))), [[JSON.stringify({ action: "decline" })]])
      })
    )

    conform("is answered by the program of the calling Agent", ({ computer, line, toolName, world }) =>
      Effect.gen(function* () {
        yield* computer({ tools })
        const agent = yield* agentUnderTest(world, { protocol: line })
        const questions: Array<InputRequest> = []
        const answer = { action: "accept", content: { name: "Ada" } } as const
        const result = yield* agent.callTool({
          computer: "pc-1",
          tool: toolName("ask"),
          onInput: (question) => Effect.sync(() => (questions.push(question), answer))
        })
        assert.deepStrictEqual(questions, [{ mode: "form", ...form }])
        assert.deepStrictEqual(answersOf([firstText(result)]), [[JSON.stringify(answer)]])
      })
    )

    conform("is answered by the form of the page, and asked again after an invalid answer", ({ members }) =>
      Effect.gen(function* () {
        const answer = (name: string) => ({ gives: { action: "accept", content: { name } } })
        const [agent, computer] = yield* members({ tools, onInput: [answer("A"), answer("Ada")] })
        const result = yield* agent.call("ask")
        assert.include(JSON.stringify(result), "Ada")
        const asked = (yield* computer.details("onInput")) as ReadonlyArray<{
          readonly input: { readonly message: string }
        }>
        assert.strictEqual(asked[0]?.input.message, "Who?")
        assert.match(asked[1]?.input.message ?? "", /\/name: .*\n\nWho\?$/)
      })
    )
  })

  describe("client:get_tools", () => {
    conform("cases 165, 173, 174, 178, 179: lists tools with and without details", ({ line, members, toolName }) =>
      Effect.gen(function* () {
        const params = { type: "object", properties: { n: { type: "integer" } } }
        const [agent] = yield* members({
          tools: [
            { name: "small" },
            { name: "full", description: "does full", params, output: params, annotations: { readOnlyHint: true } }
          ]
        })
        const bundle = line === "0.2" ? {} : { bundle_id: "functions" }
        const { tools } = yield* agent.ask("client:get_tools", { req_id: "r1" })
        const [small, full] = tools as ReadonlyArray<{ readonly params_schema: object }>
        assert.deepStrictEqual(small, {
          name: toolName("small"),
          ...bundle,
          description: "",
          params_schema: small?.params_schema ?? {},
          return_schema: null,
          meta: {}
        } as never)
        assert.deepStrictEqual(full, {
          name: toolName("full"),
          ...bundle,
          description: "does full",
          params_schema: params,
          return_schema: params,
          meta: { MCP_TOOL_ANNOTATION: '{"readOnlyHint":true}' }
        } as never)
      })
    )

    conform("case 187: notifies once of the tools of one task, and lists them", ({ members, toolName }) =>
      Effect.gen(function* () {
        const [agent, computer] = yield* members({ tools: [{ name: "a" }] })
        const offer = yield* computer.offer([{ tools: [{ name: "b" }] }, { tools: [{ name: "c" }] }])
        assert.deepStrictEqual(yield* agent.receive("notify:update_tool_list"), { computer: "pc-1" })
        assert.deepStrictEqual(yield* agent.toolNames, ["a", "b", "c"].map(toolName))
        yield* computer.withdraw(offer as number)
        yield* agent.receive("notify:update_tool_list")
        assert.deepStrictEqual(yield* agent.toolNames, ["a"].map(toolName))
        yield* announced(agent)
        assert.lengthOf(bodiesOf(agent, "notify:update_tool_list"), 2)
      })
    )

    conform("replaces a tool, and notifies of its changed definition", ({ members }) =>
      Effect.gen(function* () {
        const [agent, computer] = yield* members({ tools: [{ name: "t", value: "before" }] })
        yield* computer.offer([{ tools: [{ name: "t", description: "another", value: "after" }] }])
        yield* agent.receive("notify:update_tool_list")
        assert.deepStrictEqual(textsOf(yield* agent.call("t")), ["after"])
        assert.lengthOf(yield* agent.toolNames, 1)
      })
    )

    conform("case 139: rejects a request for another Computer", ({ members }) =>
      Effect.gen(function* () {
        const [agent, computer] = yield* members({ tools: [{ name: "t" }] })
        assertRejected([yield* agent.call("t", { computer: "pc-2" })], 404)
        assert.deepStrictEqual(yield* computer.details("run t"), [])
      })
    )
  })

  describe("membership", () => {
    conform("case 202: has no inputs, and no values of its host", ({ members }) =>
      Effect.gen(function* () {
        const [agent] = yield* members({ tools: [{ name: "t" }], token: "s3cret-42" })
        const config = yield* agent.ask("client:get_config")
        assert.deepStrictEqual(config["inputs"] ?? [], [])
        assert.notInclude(JSON.stringify(config), "s3cret-42")
      })
    )

    conform("case 218: rejects an invalid request", ({ members }) =>
      Effect.gen(function* () {
        const [agent] = yield* members()
        for (const payload of malformed) assertRejected(yield* agent.request("client:get_config", ...payload), 400)
      })
    )

    conform(
      "case 338: fails with both versions at a Server of another line",
      ({ line, script, world }) =>
        Effect.gen(function* () {
          const one = yield* script
          const error = yield* one.join({ url: world.url, protocol: line })
          assert.strictEqual(error?.code, 4008)
          assert.include(error?.message, line === "0.2" ? "0.4" : "0.2")
          assert.strictEqual(world.server.load().connections, 0)
        }),
      (line) => ({ lines: line === "0.2" ? ["0.4"] : ["0.2"] })
    )

    conform("case 342: names its version in the first request, over polling", ({ line, script }) =>
      Effect.gen(function* () {
        const urls: Array<string> = []
        const http = yield* Effect.acquireRelease(
          Effect.callback<Server>((resume) => {
            const server = createServer(({ url = "" }, response) => {
              urls.push(url)
              response.writeHead(400, { "access-control-allow-origin": "*" }).end("{}")
            }).listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
          }),
          (server) => Effect.sync(() => server.close().closeAllConnections())
        )
        const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
        assert.isNotNull(yield* (yield* script).join({ url, protocol: line }))
        const query = new URL(urls[0] ?? "", url).searchParams
        assert.strictEqual(query.get("a2c_version"), formatVersion(lineNamed(line).version))
        assert.strictEqual(query.get("transport"), "polling")
      })
    )

    conform("case 343: reports a rejected join, and sends nothing", ({ computer, line, script, world }) =>
      Effect.gen(function* () {
        yield* computer({ takeOver: false, tools: [{ name: "first" }] })
        const agent = yield* scriptedAgent(world, line)
        const second = yield* script
        const error = yield* second.join({ url: world.url, protocol: line, takeOver: false })
        assert.strictEqual(error?.code, "join_rejected")
        assert.include(error?.message, "already exists")
        yield* announced(agent)
        assert.deepStrictEqual(
          agent.received().filter(({ event }) => event.startsWith("notify:")),
          []
        )
      })
    )

    conform("takes over its place, as after a reload", ({ computer, agent }) =>
      Effect.gen(function* () {
        const before = yield* computer({ tools: [{ name: "which", value: "before" }] })
        const raw = yield* agent()
        yield* computer({ tools: [{ name: "which", value: "after" }] })
        assert.strictEqual((yield* before.failure())[0], "MemberReplaced")
        assert.deepStrictEqual(textsOf(yield* raw.call("which")), ["after"])
      })
    )

    conform("leaves an office and joins another one", ({ agent, members }) =>
      Effect.gen(function* () {
        const [first, computer] = yield* members({ tools: [slow] })
        const second = yield* agent("O2", "agent-2")
        const calling = yield* start(first.call("slow"))
        yield* computer.happened("run slow")
        yield* computer.leave()
        yield* computer.happened("abort slow")
        assert.isTrue((yield* Fiber.join(calling)).isError)
        assert.deepStrictEqual(yield* first.receive("notify:leave_office"), { office_id: "O1", computer: "pc-1" })
        assert.isNull(yield* computer.rejoin("O2"))
        assert.strictEqual(yield* computer.office(), "O2")
        assert.lengthOf(yield* second.toolNames, 1)
      })
    )

    conform("case 359: keeps its token and its arguments out of its log", ({ members }) =>
      Effect.gen(function* () {
        const tools = [{ name: "fail", does: "throw", value: "boom" } as const]
        const [agent, computer] = yield* members({ tools, token: "s3cret-42" })
        yield* agent.call("fail", { params: { text: "s3cret-43" } })
        assert.notMatch(JSON.stringify(yield* computer.logs()), /s3cret/)
      })
    )
  })
})
