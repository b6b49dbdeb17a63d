import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { Approval, ApprovalAnswer, ApprovalDecision } from "../../../src/domain/approvals/Approval.ts"
import {
  type ApprovalsCommand,
  type ApprovalsEvent,
  type ApprovalsState,
  findDecided,
  findOpen,
  type PendingApproval,
  previousCallOf,
  transitionApprovals
} from "../../../src/domain/approvals/approvalsState.ts"
import type { Approver, OfficeCaller } from "../../../src/domain/approvals/Caller.ts"
import { noApprovals } from "../../../src/domain/approvals/standingApprovals.ts"
import type { InputRequest } from "../../../src/domain/model/InputRequest.ts"

const ada: OfficeCaller = { _tag: "Agent", name: "ada", membership: 1 }
const ann: Approver = { _tag: "page", name: "ann" }

const form: InputRequest = {
  mode: "form",
  message: "Who?",
  schema: { type: "object", properties: { mail: { type: "string", format: "email" } } }
}
const url: InputRequest = { mode: "url", message: "Sign in", url: "https://a.example" }

const definition = { name: "write", description: "", schema: "{}", annotations: "{}", server: "notes" }

const approvalOf = (changes: Partial<Approval> = {}): PendingApproval => ({
  approval: {
    id: "a",
    reqId: "r",
    office: "lab",
    line: "0.2",
    computer: "pc",
    server: "notes",
    tool: "write",
    shortName: "write",
    caller: ada,
    requester: "ada",
    params: { n: 1 },
    argumentsDigest: "0",
    toolDigest: "d",
    requestedAt: 0,
    expiresAt: 10,
    askedBy: "default",
    ...changes
  },
  originalName: "write_file",
  definition
})

const empty: ApprovalsState = { open: [], decided: [], stored: noApprovals, approvedCalls: [] }

const run = (
  events: ReadonlyArray<ApprovalsEvent>,
  from = empty
): readonly [ApprovalsState, ReadonlyArray<ApprovalsCommand>] =>
  events.reduce<readonly [ApprovalsState, ReadonlyArray<ApprovalsCommand>]>(
    ([state], event) => transitionApprovals(state, event),
    [from, []]
  )

const requested = (request = approvalOf()): ApprovalsEvent => ({ _tag: "Requested", request })

const answered = (
  answer: ApprovalAnswer,
  { approver = ann, at = 5, id = "a", violations = [] }: Partial<Extract<ApprovalsEvent, { _tag: "Answered" }>> = {}
): ApprovalsEvent => ({ _tag: "Answered", id, answer, approver, violations, at })

const once: ApprovalAnswer = { action: "allow", scope: "once" }
const always: ApprovalAnswer = { action: "allow", scope: "tool" }
const withContent = (content: object): ApprovalAnswer => ({ ...once, content: { ...content } })

/** What an event does to an approval: its new state, and the commands. A rejection is its code and message. */
const outcomeOf = ([state, commands]: ReturnType<typeof run>, id = "a") => [
  findOpen(state, id) !== undefined ? "open" : (findDecided(state, id)?.decision.state ?? "unknown"),
  ...commands.map((command) =>
    command._tag === "Reject" ? `${command.error.code}: ${command.error.message}` : command._tag
  )
]

const past = "The time until which the tool is allowed has passed"
const gone = "The approval is not open any more"

describe("approval of a call", () => {
  const open = run([requested()])[0]
  const allowed = run([requested(), answered(once)])[0]
  const denied = run([requested(), answered({ action: "deny", reason: "no" })])[0]
  const expired = run([requested(), { _tag: "TimePassed", id: "a", at: 10 }])[0]
  const cancelled = run([requested(), { _tag: "CallEnded", id: "a", at: 5 }])[0]
  const isAllowed = "The approval was allowed by ann"

  it.each<[string, ApprovalsState, ApprovalsEvent, ReadonlyArray<string>]>([
    ["unknown", empty, requested(), ["open"]],
    ["open", open, answered(once), ["allowed", "End", "Save"]],
    ["open", open, answered(always), ["allowed", "End", "Save"]],
    ["open", open, answered({ ...always, until: 6 }), ["allowed", "End", "Save"]],
    ["open", open, answered({ ...always, until: 5 }), ["open", `400: ${past}`]],
    ["open", open, answered({ action: "deny" }), ["denied", "End"]],
    ["open", open, answered({ action: "cancel" }), ["denied", "End"]],
    ["open", open, answered(once, { at: 10 }), ["allowed", "End", "Save"]],
    ["open", open, { _tag: "TimePassed", id: "a", at: 9 }, ["open"]],
    ["open", open, { _tag: "TimePassed", id: "a", at: 10 }, ["expired", "End"]],
    ["open", open, { _tag: "TimePassed", id: "a", at: 11 }, ["expired", "End"]],
    ["open", open, { _tag: "TimePassed", id: "b", at: 11 }, ["open"]],
    ["open", open, { _tag: "CallEnded", id: "a", at: 5 }, ["cancelled", "End"]],
    ["open", open, { _tag: "CallEnded", id: "b", at: 5 }, ["open"]],
    ["open", open, { _tag: "Extended", id: "a", expiresAt: 99 }, ["open"]],
    ["open", open, { _tag: "Revoked", id: "a" }, ["open"]],
    ["open", open, { _tag: "AgentLeft" }, ["open"]],
    ["open", open, answered(once, { id: "b" }), ["open", `404: ${gone}`]],
    ["allowed", allowed, answered({ action: "deny" }), ["allowed", `409: ${isAllowed}`]],
    ["allowed", allowed, answered({ ...always, until: 5 }), ["allowed", `400: ${past}`]],
    ["allowed", allowed, { _tag: "TimePassed", id: "a", at: 11 }, ["allowed"]],
    ["allowed", allowed, { _tag: "CallEnded", id: "a", at: 11 }, ["allowed"]],
    ["allowed", allowed, { _tag: "Extended", id: "a", expiresAt: 99 }, ["allowed"]],
    ["denied", denied, answered(once), ["denied", "409: The approval was denied by ann: no"]],
    ["denied", denied, { _tag: "CallEnded", id: "a", at: 11 }, ["denied"]],
    ["expired", expired, answered(once), ["expired", "409: The approval was expired: no approver answered in time"]],
    ["expired", expired, { _tag: "TimePassed", id: "a", at: 11 }, ["expired"]],
    [
      "cancelled",
      cancelled,
      answered(once),
      ["cancelled", "409: The approval was ended before a decision: the call was cancelled"]
    ],
    ["cancelled", cancelled, { _tag: "CallEnded", id: "a", at: 11 }, ["cancelled"]],
    ["unknown", empty, answered(once), ["unknown", `404: ${gone}`]],
    ["unknown", empty, { _tag: "TimePassed", id: "a", at: 11 }, ["unknown"]],
    ["unknown", empty, { _tag: "CallEnded", id: "a", at: 11 }, ["unknown"]],
    ["unknown", empty, { _tag: "Extended", id: "a", expiresAt: 99 }, ["unknown"]]
  ])("that is %s", (_, state, event, outcome) => {
    assert.deepStrictEqual(outcomeOf(transitionApprovals(state, event)), outcome)
  })

  it.each<[string, ApprovalsEvent, ApprovalDecision]>([
    ["an answer for this call", answered(once), { state: "allowed", by: "ann", at: 5, scope: "once" }],
    [
      "an answer for the tool",
      answered({ ...always, until: 9 }),
      { state: "allowed", by: "ann", at: 5, scope: "tool", until: 9 }
    ],
    ["a denial", answered({ action: "deny", reason: "no" }), { state: "denied", by: "ann", at: 5, reason: "no" }],
    [
      "the denial of an Agent",
      answered({ action: "deny" }, { approver: { _tag: "agent", caller: ada } }),
      { state: "denied", by: "agent ada", at: 5 }
    ],
    ["its expiry", { _tag: "TimePassed", id: "a", at: 12 }, { state: "expired", at: 12 }],
    ["the end of its call", { _tag: "CallEnded", id: "a", at: 3 }, { state: "cancelled", at: 3 }]
  ])("ends with %s, and its decision does not carry the answer", (_, event, decision) => {
    const [state, commands] = transitionApprovals(open, event)
    assert.deepStrictEqual(commands[0], { _tag: "End", id: "a", decision })
    assert.deepStrictEqual(state.decided, [{ approval: approvalOf().approval, decision }])
    assert.isEmpty(state.open)
  })

  it("expires later when its caller waits longer, and leaves others as they are", () => {
    const both = run([requested(), requested(approvalOf({ id: "b" })), { _tag: "Extended", id: "a", expiresAt: 99 }])[0]
    assert.deepStrictEqual(
      both.open.map(({ approval: { expiresAt, id } }) => [id, expiresAt]),
      [
        ["a", 99],
        ["b", 10]
      ]
    )
    assert.deepStrictEqual(outcomeOf(run([{ _tag: "TimePassed", id: "a", at: 98 }], both)), ["open"])
    assert.deepStrictEqual(outcomeOf(run([{ _tag: "TimePassed", id: "a", at: 99 }], both)), ["expired", "End"])
  })

  it("changes no state without cause, which would publish the same approvals again", () => {
    const events: ReadonlyArray<ApprovalsEvent> = [
      { _tag: "Extended", id: "b", expiresAt: 99 },
      { _tag: "TimePassed", id: "a", at: 9 },
      { _tag: "CallEnded", id: "b", at: 9 },
      { _tag: "Revoked", id: "b" },
      answered(once, { id: "b" })
    ]
    for (const event of events) assert.strictEqual(transitionApprovals(open, event)[0], open)
  })

  it("is found among the last 100 decided ones", () => {
    const ids = Array.from({ length: 101 }, (_, index) => `${index}`)
    const [state] = run(ids.flatMap((id) => [requested(approvalOf({ id })), answered({ action: "deny" }, { id })]))
    assert.deepStrictEqual([outcomeOf([state, []], "0"), outcomeOf([state, []], "1")], [["unknown"], ["denied"]])
    assert.lengthOf(state.decided, 100)
  })
})

describe("approval that answers an elicitation", () => {
  const openForm = run([requested(approvalOf({ input: form }))])[0]
  const openUrl = run([requested(approvalOf({ input: url }))])[0]
  const answeredForm = run([answered(withContent({}))], openForm)[0]
  const declinedForm = run([answered({ action: "deny" })], openForm)[0]
  const expiredForm = run([{ _tag: "TimePassed", id: "a", at: 10 }], openForm)[0]
  const textOf = (length: number) => "x".repeat(length - JSON.stringify({ text: "" }).length)
  const prefix = "400: The answer does not fit its form: "

  it.each<[string, ApprovalsState, ApprovalsEvent, ReadonlyArray<string>]>([
    ["a form", openForm, answered(withContent({ name: "ada" })), ["allowed", "End"]],
    ["a form", openForm, answered(once), ["open", "400: The answer to a question has the content of its form"]],
    ["a form", openForm, answered(always), ["open", "400: A question is answered once: its answer has no scope"]],
    ["a form", openForm, answered({ action: "deny" }), ["denied", "End"]],
    ["a form", openForm, answered({ action: "cancel" }), ["denied", "End"]],
    [
      "a form",
      openForm,
      answered(withContent({}), { violations: ["/n: one", "/m: two"] }),
      ["open", `${prefix}/n: one; /m: two`]
    ],
    ["a form", openForm, answered(withContent({ mail: "a@b" })), ["allowed", "End"]],
    ["a form", openForm, answered(withContent({ mail: "a" })), ["open", `${prefix}/mail: must match format "email"`]],
    ["a form", openForm, answered(withContent({ text: textOf(64 * 1024) })), ["allowed", "End"]],
    [
      "a form",
      openForm,
      answered(withContent({ text: textOf(64 * 1024 + 1) })),
      ["open", "400: The content of an answer has at most 65536 characters"]
    ],
    ["a form", openForm, { _tag: "TimePassed", id: "a", at: 10 }, ["expired", "End"]],
    ["a form", openForm, { _tag: "CallEnded", id: "a", at: 5 }, ["cancelled", "End"]],
    ["a URL", openUrl, answered(once), ["allowed", "End"]],
    ["a URL", openUrl, answered(always), ["open", "400: A question is answered once: its answer has no scope"]],
    ["a URL", openUrl, answered({ action: "deny" }), ["denied", "End"]],
    ["an answered form", answeredForm, answered(withContent({})), ["allowed", "409: The question was answered by ann"]],
    ["an answered form", answeredForm, answered(once), ["allowed", "409: The question was answered by ann"]],
    [
      "a declined form",
      declinedForm,
      answered(withContent({})),
      ["denied", "409: The question was not answered: declined or closed by ann"]
    ],
    [
      "an expired form",
      expiredForm,
      answered(withContent({})),
      ["expired", "409: The question was expired: no answer came in time"]
    ]
  ])("%s", (_, state, event, outcome) => {
    assert.deepStrictEqual(outcomeOf(transitionApprovals(state, event)), outcome)
  })

  it("rejects integers that JSON has rounded, by their places", () => {
    const [, commands] = transitionApprovals(openForm, answered(withContent({ id: 2 ** 53, text: "x" })))
    const [command] = commands
    assert.isTrue(command?._tag === "Reject" && command.error.code === 400)
    assert.isTrue(command?._tag === "Reject" && command.error.message.includes("/id: "))
  })

  it("gives the content of an answer to its call alone", () => {
    const answer = withContent({ pin: "1234" })
    const [state, commands] = transitionApprovals(openForm, answered(answer))
    assert.deepStrictEqual(commands, [
      { _tag: "End", id: "a", decision: { state: "allowed", by: "ann", at: 5, scope: "once" }, answer }
    ])
    assert.notInclude(JSON.stringify(state), "1234")
  })

  it("does not pin the tool, keep its arguments, or allow it later", () => {
    const { approvedCalls, stored } = answeredForm
    assert.deepStrictEqual({ approvedCalls, stored }, { approvedCalls: [], stored: noApprovals })
  })
})

describe("answer for the tool", () => {
  const at = (id: string, changes: Partial<Approval> = {}) => requested(approvalOf({ id, ...changes }))

  it("ends the approvals that it covers, the oldest one first, and stands for later calls", () => {
    const [state, commands] = run([
      at("b", { params: { n: 2 } }),
      at("other tool", { toolDigest: "e" }),
      at("other office", { office: "attic" }),
      at("elicitation", { input: form }),
      at("a"),
      answered({ ...always, until: 99 })
    ])
    const decision = { state: "allowed", by: "ann", at: 5, scope: "tool", until: 99 } as const
    assert.deepStrictEqual(commands, [
      { _tag: "End", id: "b", decision },
      { _tag: "End", id: "a", decision },
      { _tag: "Save" }
    ])
    assert.deepStrictEqual(
      state.open.map(({ approval: { id } }) => id),
      ["other tool", "other office", "elicitation"]
    )
    assert.deepStrictEqual(
      state.decided.map(({ approval: { id } }) => id),
      ["b", "a"]
    )
    assert.deepStrictEqual(state.stored.grants, [
      {
        id: "a",
        server: "notes",
        tool: "write",
        toolDigest: "d",
        caller: ada,
        by: "ann",
        approver: "page",
        at: 5,
        office: "lab",
        line: "0.2",
        until: 99
      }
    ])
  })

  it("ends only its approval when it allows one call", () => {
    const [state, commands] = run([at("a"), at("b"), answered(once)])
    assert.deepStrictEqual(
      [commands.map(({ _tag }) => _tag), state.open.map(({ approval: { id } }) => id), state.stored.grants],
      [["End", "Save"], ["b"], []]
    )
  })

  it("stands for the membership of an Agent that gave it", () => {
    const later: OfficeCaller = { ...ada, membership: 2 }
    const [{ stored }] = run([at("a"), answered(always, { approver: { _tag: "agent", caller: later } })])
    assert.deepStrictEqual(
      stored.grants.map(({ approver, by, caller }) => [approver, by, caller]),
      [["agent", "agent ada", later]]
    )
  })

  it("ends when it is revoked, and one of an Agent when that leaves", () => {
    const agent: Approver = { _tag: "agent", caller: ada }
    const [state] = run([
      at("a"),
      answered(always),
      at("b", { toolDigest: "e" }),
      answered(always, { id: "b", approver: agent })
    ])
    const idsOf = ({ stored }: ApprovalsState) => stored.grants.map(({ id }) => id)
    assert.deepStrictEqual(idsOf(state), ["a", "b"])
    const [revoked, commands] = run([{ _tag: "Revoked", id: "a" }], state)
    assert.deepStrictEqual([idsOf(revoked), commands], [["b"], [{ _tag: "Save" }]])
    assert.strictEqual(revoked.stored.pins, state.stored.pins)
    const [left, others] = run([{ _tag: "AgentLeft" }], state)
    assert.deepStrictEqual([idsOf(left), others], [["a"], []])
  })
})

describe("allowed call", () => {
  it("pins its tool, and keeps its arguments for the next approval of the tool", () => {
    const [state] = run([requested(), answered(once)])
    assert.deepStrictEqual(state.stored.pins, [
      { server: "notes", tool: "write_file", digest: "d", definition, at: 5, by: "ann" }
    ])
    const tool = { server: "notes", originalName: "write_file" }
    assert.deepStrictEqual(previousCallOf(state, tool), { previousParams: { n: 1 }, previousCaller: ada })
    assert.deepStrictEqual(previousCallOf(state, { ...tool, server: "other" }), {})
    assert.deepStrictEqual(previousCallOf(state, { ...tool, originalName: "write" }), {})
  })

  it("replaces the arguments of its tool, and removes them when its own are long", () => {
    const long = "x".repeat(64 * 1024 - JSON.stringify({ text: "" }).length)
    const paramsAfter = (params: Approval["params"]) =>
      run([
        requested(),
        answered(once),
        requested(approvalOf({ id: "b", params })),
        answered(once, { id: "b" })
      ])[0].approvedCalls.map(({ previous }) => previous.previousParams)
    assert.deepStrictEqual(paramsAfter({ n: 2 }), [{ n: 2 }])
    assert.deepStrictEqual(paramsAfter({ text: long }), [{ text: long }])
    assert.deepStrictEqual(paramsAfter({ text: `${long}x` }), [])
  })

  it("keeps the arguments of other tools, at most 100", () => {
    const events = Array.from({ length: 101 }, (_, index): ReadonlyArray<ApprovalsEvent> => {
      const request = { ...approvalOf({ id: `${index}` }), originalName: `tool${index}` }
      return [requested(request), answered(once, { id: `${index}` })]
    }).flat()
    const other = approvalOf({ id: "o", server: "other" })
    const [state] = run([...events, requested(other), answered(once, { id: "o" })])
    const names = state.approvedCalls.map(({ originalName, server }) => `${server}/${originalName}`)
    assert.deepStrictEqual([names.length, names[0], names.at(-1)], [100, "notes/tool2", "other/write_file"])
  })

  it("is remembered neither by a denial nor by an expiry", () => {
    for (const event of [answered({ action: "deny" }), { _tag: "TimePassed", id: "a", at: 10 } as const]) {
      const [{ approvedCalls, stored }] = run([requested(), event])
      assert.deepStrictEqual({ approvedCalls, stored }, { approvedCalls: [], stored: noApprovals })
    }
  })
})

const Step = Schema.Struct({
  id: Schema.Literals(["a", "b", "c"]),
  act: Schema.Literals(["request", "once", "tool", "deny", "time", "end", "extend"])
})

describe("approvals", () => {
  it.prop(
    "ends each approval once, which is never open and decided at the same time",
    [Schema.Array(Step)],
    ([steps]) => {
      const ended = new Map<string, number>()
      const known = new Set<string>()
      let state = empty
      for (const [at, { act, id }] of steps.entries()) {
        if (act === "request" && known.has(id)) continue
        const events: { readonly [A in typeof act]: ApprovalsEvent } = {
          request: requested(approvalOf({ id, requestedAt: at, expiresAt: at + 3 })),
          once: answered(once, { id, at }),
          tool: answered(always, { id, at }),
          deny: answered({ action: "deny" }, { id, at }),
          time: { _tag: "TimePassed", id, at },
          end: { _tag: "CallEnded", id, at },
          extend: { _tag: "Extended", id, expiresAt: at + 3 }
        }
        const [next, commands] = transitionApprovals(state, events[act])
        if (act === "request") known.add(id)
        for (const command of commands) {
          if (command._tag === "End") ended.set(command.id, (ended.get(command.id) ?? 0) + 1)
        }
        state = next
      }
      for (const id of known) {
        const isOpen = findOpen(state, id) !== undefined
        assert.strictEqual(ended.get(id) ?? 0, isOpen ? 0 : 1)
        assert.strictEqual(findDecided(state, id) === undefined, isOpen)
      }
    }
  )
})
