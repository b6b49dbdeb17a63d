import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  type ApprovalAnswer,
  type ComputerOptions,
  connectAgent,
  type ToolCall
} from "../../../src/main/entrypoints/promise.ts"
import { textResult, tool } from "../../conformance/members.ts"
import { firstText } from "../../firstText.ts"
import { codeOf, firstOf, inOffice } from "./promiseOffice.ts"

type Options = { readonly signal: AbortSignal }
type Hook = (input: unknown, options: Options) => Promise<never>

/** A hook that never answers, and the abort of its signal. */
const makeHook = () => {
  const started = Promise.withResolvers<void>()
  const aborted = Promise.withResolvers<void>()
  const hook: Hook = (_, { signal }) => {
    signal.addEventListener("abort", () => aborted.resolve())
    started.resolve()
    return new Promise(() => undefined)
  }
  return { hook, started: started.promise, aborted: aborted.promise }
}

const schema = { type: "object", properties: { name: { type: "string" } } }
const once = { action: "allow", scope: "once" } as const
const named = { ...once, content: { name: "Ada" } }

interface Row {
  /** The tool that the Agent calls. */
  readonly name: string
  readonly computer: (hook: Hook) => Partial<ComputerOptions>
  readonly call: (hook: Hook) => Partial<ToolCall>
  /** The answer of the responder that is faster. */
  readonly answer: ApprovalAnswer
}

const rows: ReadonlyArray<readonly [string, Row]> = [
  [
    "confirm of a Computer",
    { name: "echo", computer: (confirm) => ({ confirm, approvers: ["agent"] }), call: () => ({}), answer: once }
  ],
  [
    "onInput of a Computer",
    {
      name: "ask",
      computer: (onInput) => ({ onInput, approve: ["*"] }),
      call: () => ({ onInput: () => new Promise(() => undefined) }),
      answer: named
    }
  ],
  [
    "onApproval of an Agent",
    { name: "echo", computer: () => ({ approvers: ["agent"] }), call: (onApproval) => ({ onApproval }), answer: once }
  ],
  [
    "onInput of an Agent",
    { name: "ask", computer: () => ({ approve: ["*"] }), call: (onInput) => ({ onInput }), answer: named }
  ]
]

describe.each(rows)("the signal of %s", (_, { answer, call, computer, name }) => {
  /** A call whose hook has started. The call ends once `finish` is called. */
  const calling = <A>(
    use: (parts: {
      readonly decide: () => Promise<unknown>
      readonly aborted: Promise<void>
      readonly result: Promise<string>
      readonly finish: () => void
      readonly abort: () => void
    }) => Promise<A>
  ) =>
    inOffice(async (office) => {
      const { aborted, hook, started } = makeHook()
      const { promise: gate, resolve: finish } = Promise.withResolvers<void>()
      const work = Effect.promise(() => gate)
      const alpha = await office.mcpServer({
        tools: [
          tool("echo", () => Effect.as(work, textResult("accept"))),
          tool("ask", (__, { ask }) =>
            Effect.tap(
              Effect.map(ask({ mode: "form", message: "who?", schema }), ({ action }) => textResult(action)),
              () => work
            )
          )
        ]
      })
      const desk = await office.computer({ config: { servers: { alpha } }, ...computer(hook) })
      const agent = await office.agent()
      const ending = new AbortController()
      const result = agent.callTool({ computer: "desk", tool: name, ...call(hook) }, ending)
      const text = result.then(firstText, ({ code }: { readonly code: string }) => code)
      await started
      const decide = async () => {
        const [open] = (await firstOf(desk.approvals(), (all) => all.length > 0)) ?? []
        return desk.decideApproval(open?.id ?? "", { ...answer, by: "ann" })
      }
      return use({ decide, aborted, result: text, finish, abort: () => ending.abort() })
    })

  it("aborts when another responder answers first, while the call runs on", () =>
    calling(async ({ aborted, decide, finish, result }) => {
      await decide()
      await aborted
      finish()
      assert.strictEqual(await result, "accept")
    }))

  it("aborts when the call is aborted", () =>
    calling(async ({ abort, aborted, result }) => {
      abort()
      await aborted
      assert.strictEqual(await result, "aborted")
    }))
})

describe("the signal of authenticate of a Server", () => {
  it("aborts when the client that connects goes away", () => {
    const { aborted, hook, started } = makeHook()
    return inOffice(
      async (office) => {
        const ending = new AbortController()
        const connecting = connectAgent(
          { url: office.server.url, office: "team", name: "ada", log: () => undefined },
          ending
        )
        const rejected = codeOf(connecting)
        await started
        ending.abort()
        assert.strictEqual(await rejected, "aborted")
        await aborted
      },
      { authenticate: hook }
    )
  })
})
