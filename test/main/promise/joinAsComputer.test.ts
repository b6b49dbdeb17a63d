import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { joinAsComputer, type JoinAsComputerOptions } from "../../../src/main/entrypoints/computer.ts"
import { lineNames } from "../../../src/domain/wire/lines.ts"
import { firstText } from "../../firstText.ts"
import { codeOf, firstOf, inOffice, type PromiseOffice, waitLimit } from "./promiseOffice.ts"

const quiet = () => undefined

/** Joins the office of a test as the Computer `page`, which allows all calls. */
const join = async (office: PromiseOffice, options: Partial<JoinAsComputerOptions> = {}) => {
  const { url } = office.server
  const page = await joinAsComputer({ url, office: "team", name: "page", approve: ["*"], log: quiet, ...options })
  office.defer(() => page.close())
  return page
}

const shout = {
  name: "shout",
  params: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  run: ({ text }: { readonly [name: string]: unknown }) => String(text).toUpperCase()
}

/** A tool that never ends, the signal of its call, and when it runs. */
const hanging = () => {
  const started = Promise.withResolvers<AbortSignal>()
  const tool = {
    name: "hang",
    run: (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
      started.resolve(signal)
      return new Promise(quiet)
    }
  }
  return { tool, started: started.promise }
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => (signal.aborted ? resolve() : signal.addEventListener("abort", () => resolve())))

describe("a Computer of functions", () => {
  for (const protocol of lineNames) {
    it(`runs the call of an Agent on the line ${protocol}`, () =>
      inOffice(async (office) => {
        await join(office, { protocol, tools: [shout] })
        const agent = await office.agent({ protocol })
        const [tool] = await agent.getTools("page")
        assert.strictEqual(firstText(await agent.callTool({ tool: tool?.name ?? "", params: { text: "hi" } })), "HI")
      }))
  }

  it("tells a tool the name of the Agent that calls it", () =>
    inOffice(async (office) => {
      await join(office, { tools: [{ name: "who", run: (_, { requester }) => `called by ${requester}` }] })
      const agent = await office.agent({ name: "thinker" })
      assert.strictEqual(firstText(await agent.callTool({ tool: "who" })), "called by thinker")
    }))

  it("names invalid arguments, and does not run the tool", () =>
    inOffice(async (office) => {
      await join(office, { tools: [{ ...shout, run: () => assert.fail("it ran") }] })
      const agent = await office.agent()
      const result = await agent.callTool({ tool: "shout", params: { text: 1 } })
      assert.match(firstText(result), /its arguments do not fit its schema.\n- \/text: must be string/)
    }))

  const Text = Schema.Struct({ text: Schema.String })

  it("rejects an Effect Schema, and says what to pass instead", () =>
    inOffice(async (office) => {
      const error = await join(office, { tools: [{ ...shout, params: Text }] }).catch((error: unknown) => error)
      assert.match(String(error), /pass Schema\.toStandardJSONSchemaV1\(Schema\.toStandardSchemaV1\(schema\)\)/)
    }))

  it("takes an Effect Schema that is a Standard JSON Schema", () =>
    inOffice(async (office) => {
      const params = Schema.toStandardJSONSchemaV1(Schema.toStandardSchemaV1(Text))
      await join(office, { tools: [{ ...shout, params }] })
      const agent = await office.agent()
      assert.strictEqual(firstText(await agent.callTool({ tool: "shout", params: { text: "hi" } })), "HI")
      const { isError } = await agent.callTool({ tool: "shout", params: { text: 1 } })
      assert.isTrue(isError)
    }))

  it("needs consent", () =>
    inOffice(async (office) => {
      await join(office, { approve: [], tools: [shout] })
      const agent = await office.agent()
      const { isError, meta } = await agent.callTool({ tool: "shout", params: { text: "hi" } })
      assert.deepStrictEqual([isError, meta?.["error_code"]], [true, 4005])
    }))

  it("asks for consent with the name of the Agent", () =>
    inOffice(async (office) => {
      const asked: Array<unknown> = []
      const confirm: JoinAsComputerOptions["confirm"] = ({ params, requester, tool }) =>
        asked.push([requester, tool, params]) > 0
      await join(office, { approve: [], confirm, tools: [shout] })
      const agent = await office.agent()
      assert.strictEqual(firstText(await agent.callTool({ tool: "shout", params: { text: "hi" } })), "HI")
      assert.deepStrictEqual(asked, [["thinker", "shout", { text: "hi" }]])
    }))

  it("decides by rules", () =>
    inOffice(async (office) => {
      const rules = [{ action: "deny", tool: "shout", reason: "be quiet" }, { action: "allow" }]
      await join(office, { approve: [], policy: { rules }, tools: [shout, { name: "whisper", run: () => "psst" }] })
      const agent = await office.agent()
      assert.strictEqual(firstText(await agent.callTool({ tool: "whisper" })), "psst")
      assert.match(firstText(await agent.callTool({ tool: "shout", params: { text: "hi" } })), /be quiet/)
    }))

  it("aborts the signal of a call that the Agent cancels", () =>
    inOffice(async (office) => {
      const { started, tool } = hanging()
      await join(office, { tools: [tool] })
      const agent = await office.agent()
      const cancelling = new AbortController()
      const call = codeOf(agent.callTool({ tool: "hang" }, { signal: cancelling.signal }))
      const signal = await started
      cancelling.abort()
      await aborted(signal)
      assert.strictEqual(await call, "aborted")
    }))

  it("ends the calls in progress when it is closed", () =>
    inOffice(async (office) => {
      const { started, tool } = hanging()
      const page = await join(office, { tools: [tool] })
      const agent = await office.agent()
      const call = codeOf(agent.callTool({ tool: "hang" }))
      const signal = await started
      await page.close()
      assert.isTrue(signal.aborted)
      assert.strictEqual(await call, 404)
    }))

  it("asks the Agent, or its own form", () =>
    inOffice(async (office) => {
      const ask: NonNullable<JoinAsComputerOptions["tools"]>[number] = {
        name: "greet",
        run: async (_, context) => {
          const schema = { type: "object", properties: { name: { type: "string" } } }
          const answer = await context.ask({ message: "Who are you?", schema })
          return answer.action === "accept" ? `Hello ${String(answer.content?.["name"])}` : answer.action
        }
      }
      await join(office, { tools: [ask] })
      const agent = await office.agent()
      assert.strictEqual(firstText(await agent.callTool({ tool: "greet" })), "decline")
      const onInput = () => ({ action: "accept", content: { name: "Ada" } }) as const
      assert.strictEqual(firstText(await agent.callTool({ tool: "greet", onInput })), "Hello Ada")
      await join(office, {
        name: "form",
        tools: [ask],
        onInput: () => ({ action: "accept", content: { name: "Bob" } })
      })
      assert.strictEqual(firstText(await agent.callTool({ computer: "form", tool: "greet" })), "Hello Bob")
    }))

  it("answers with the defaults of the fields that its program omits, and an Agent without them", () =>
    inOffice(async (office) => {
      const ask: NonNullable<JoinAsComputerOptions["tools"]>[number] = {
        name: "order",
        run: async (_, context) => {
          const properties = { size: { type: "string", default: "small" }, sugar: { type: "boolean", default: false } }
          const answer = await context.ask({ message: "What?", schema: { type: "object", properties } })
          return JSON.stringify(answer)
        }
      }
      const accept = (content?: { readonly size: string }) => () =>
        ({ action: "accept", ...(content && { content }) }) as const
      const agent = await office.agent()
      const answered = async (name: string, onInput: JoinAsComputerOptions["onInput"]) => {
        await join(office, { name, tools: [ask], ...(onInput && { onInput }) })
        return JSON.parse(firstText(await agent.callTool({ computer: name, tool: "order" }))) as unknown
      }
      const content = { size: "large", sugar: false }
      assert.deepStrictEqual(await answered("some", accept({ size: "large" })), { action: "accept", content })
      const defaults = { size: "small", sugar: false }
      assert.deepStrictEqual(await answered("none", accept()), { action: "accept", content: defaults })
      assert.deepStrictEqual(await answered("not", () => ({ action: "decline" })), { action: "decline" })
      // A person at the Agent has seen the defaults, and left them out.
      await join(office, { name: "person", tools: [ask] })
      const onInput = () => ({ action: "accept", content: {} }) as const
      const given = firstText(await agent.callTool({ computer: "person", tool: "order", onInput }))
      assert.deepStrictEqual(JSON.parse(given), { action: "accept", content: {} })
    }))

  it("offers and withdraws tools while it is joined, and the Agent follows", () =>
    inOffice(async (office) => {
      const page = await join(office)
      const agent = await office.agent()
      const toolsOf = async (accepts: (names: ReadonlyArray<string>) => boolean) => {
        const namesOf = (view: { readonly tools?: ReadonlyArray<{ readonly name: string }> | undefined } | undefined) =>
          view?.tools?.map(({ name }) => name) ?? []
        return namesOf(await firstOf(agent.changesOf("page", waitLimit(true)), (view) => accepts(namesOf(view))))
      }
      const withdraw = page.offer({ tools: [shout] })
      assert.deepStrictEqual(await toolsOf((names) => names.length === 1), ["shout"])
      withdraw()
      assert.deepStrictEqual(await toolsOf((names) => names.length === 0), [])
      assert.throws(() => page.offer({ tools: [{ name: "", run: quiet }] }), /tool '' cannot be offered/)
    }))

  it("notifies the office once of all that changes in one task", () =>
    inOffice(async (office) => {
      const page = await join(office)
      const agent = await office.agent()
      await agent.settled()
      const seen: Array<string> = []
      const watching = firstOf(agent.events(waitLimit(true)), (event) => {
        if (event._tag === "Updated") seen.push(event.part)
        if (seen.length === 2) page.offer({ windows: [{ name: "last", text: () => "" }] })
        return seen.length === 3
      })
      page.offer({ tools: [shout] })
      page.offer({ tools: [{ name: "other", run: quiet }] })
      page.offer({ windows: [{ name: "w", text: () => "" }] })
      await watching
      assert.deepStrictEqual(seen.slice(0, 2).toSorted(), ["desktop", "toolList"])
      assert.strictEqual(seen[2], "desktop")
    }))

  it("shows a window to the Agent, and its changes", () =>
    inOffice(async (office) => {
      let text = "closed"
      const page = await join(office, { windows: [{ name: "door", text: () => text }] })
      const agent = await office.agent()
      assert.deepStrictEqual(await agent.getDesktop("page"), ["window://functions/door\n\nclosed"])
      text = "open"
      page.changed("door")
      const shown = await firstOf(
        agent.changesOf("page", waitLimit(true)),
        (view) => view?.desktop?.[0]?.endsWith("open") === true
      )
      assert.isDefined(shown)
    }))

  it("gives the address of a document, and names the setting that another one needs", () =>
    inOffice(async (office) => {
      await join(office, {
        documents: [
          { name: "here", pages: 1, read: () => "text" },
          { name: "there", pages: 1, mimeType: "text/plain", read: () => new URL("https://example.org/there") }
        ]
      })
      const agent = await office.agent()
      const { documents } = await agent.findDocuments("page")
      assert.deepStrictEqual(
        documents.map(({ uri }) => uri),
        ["dpe://functions/here", "dpe://functions/there"]
      )
      assert.include(await agent.getDpe("page", "dpe://functions/there"), {
        uri: "https://example.org/there",
        mimeType: "text/plain"
      })
      assert.strictEqual(await codeOf(agent.getDpe("page", "dpe://functions/here")), 4013)
    }))

  it("takes over its place, as after a reload", () =>
    inOffice(async (office) => {
      const before = await join(office, { tools: [{ name: "which", run: () => "before" }] })
      await join(office, { tools: [{ name: "which", run: () => "after" }] })
      const failed = await firstOf(before.status(waitLimit(true)), ({ _tag }) => _tag === "Failed")
      assert.strictEqual(failed?._tag === "Failed" && failed.error._tag, "MemberReplaced")
      const agent = await office.agent()
      assert.strictEqual(firstText(await agent.callTool({ tool: "which" })), "after")
    }))

  it("rejects options that it does not have", async () => {
    const options = { url: "http://127.0.0.1:1", office: "team", name: "page", config: {} }
    assert.strictEqual(await codeOf(joinAsComputer(options as never)), "config_invalid")
  })
})
