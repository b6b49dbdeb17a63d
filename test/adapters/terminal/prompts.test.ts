import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Option } from "effect"
import * as Dialogue from "../../../src/adapters/terminal/Dialogue.ts"
import { makeInputPrompt, makeConsentPrompt } from "../../../src/adapters/terminal/prompts.ts"
import type { ConfirmRequest } from "../../../src/application/computer/ComputerSettings.ts"
import type { Input } from "../../../src/domain/config/computerConfig.ts"
import type { JsonObject } from "../../../src/domain/json.ts"
import { makeTerminal } from "./terminal.ts"

type PromptInput = Exclude<Input, { readonly type: "command" }>

const name: PromptInput = { type: "promptString", id: "name", description: "Your name" }
const token: PromptInput = { type: "promptString", id: "token", description: "", password: true }
const size: PromptInput = {
  type: "pickString",
  id: "size",
  description: "",
  options: ["S", "M", "10"],
  default: "M"
}

const terminalOf = Effect.fnUntraced(function* (columns?: number) {
  const terminal = makeTerminal(columns)
  const dialogue = yield* Dialogue.make(terminal)
  return {
    ...terminal,
    dialogue,
    promptForInput: makeInputPrompt(dialogue),
    promptForConsent: makeConsentPrompt(dialogue)
  }
})
const withTerminal = terminalOf()

/** Asks and types these lines, each when the question has come again. */
const answered = Effect.fnUntraced(function* (
  input: PromptInput,
  prompt: string,
  ...lines: ReadonlyArray<string>
) {
  const { promptForInput, enter, screen, shows } = yield* withTerminal
  const asking = yield* Effect.forkChild(promptForInput(input))
  for (const [index, line] of lines.entries()) {
    yield* shows(prompt, index + 1)
    yield* enter(line)
  }
  return { answer: Option.getOrUndefined(yield* Fiber.join(asking)), screen: screen() }
})

const request = (params: JsonObject = {}): ConfirmRequest => ({
  agent: "ada",
  reqId: "r",
  server: "files",
  tool: "remove",
  params
})

/** What the person sees when asked about a call, and what comes of an answer. */
const decided = Effect.fnUntraced(function* (answer: string, asked = request(), columns?: number) {
  const { promptForConsent, enter, screen, shows } = yield* terminalOf(columns)
  const deciding = yield* Effect.forkChild(promptForConsent(asked))
  yield* shows("Run it? y(es)")
  yield* enter(answer)
  return { verdict: yield* Fiber.join(deciding), screen: screen() }
})

describe("asking for the value of an input", () => {
  it.effect("a string is what is typed, and shows while it is typed", () =>
    Effect.gen(function* () {
      const { answer, screen } = yield* answered(name, 'Value of "name" (Your name): ', "Ada Lovelace")
      assert.strictEqual(answer, "Ada Lovelace")
      assert.include(screen, "Ada Lovelace")
    })
  )

  it.effect("case 215: nothing of a password is echoed", () =>
    Effect.gen(function* () {
      const { answer, screen } = yield* answered(token, "[hidden]: ", "s3cret")
      assert.strictEqual(answer, "s3cret")
      assert.strictEqual(screen, 'Value of "token" [hidden]: \n')
    })
  )

  it.effect("case 215: the default of a password is not shown", () =>
    Effect.gen(function* () {
      const { answer, screen } = yield* answered({ ...token, default: "s3cret" }, "has a default]: ", "")
      assert.isUndefined(answer)
      assert.notInclude(screen, "s3cret")
    })
  )

  it.effect("an empty line leaves it to the default, which is shown", () =>
    Effect.gen(function* () {
      const { answer } = yield* answered({ ...name, default: "Bob" }, "(Your name) [Bob]: ", "")
      assert.isUndefined(answer)
    })
  )

  it.effect("a pick is taken by its number, or as it is spelled", () =>
    Effect.gen(function* () {
      const byNumber = yield* answered(size, "Number or text [M]: ", "1")
      assert.strictEqual(byNumber.answer, "S")
      assert.include(byNumber.screen, "  1) S\n  2) M\n  3) 10\n")
      assert.strictEqual((yield* answered(size, "Number or text", "M")).answer, "M")
      assert.strictEqual((yield* answered(size, "Number or text", "10")).answer, "10")
    })
  )

  it.effect("what is no option is asked for again, three times at most", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* answered(size, "Number or text", "XL", "4", "2")).answer, "M")
      assert.isUndefined((yield* answered(size, "Number or text", "0", "-1", "x")).answer)
    })
  )

  it.effect("a description cannot reach the terminal", () =>
    Effect.gen(function* () {
      const description = "\u001b[2Jx\r\ny\u202ez"
      const { screen } = yield* answered({ ...name, description }, ": ", "a")
      assert.include(screen, "(\\u{1b}[2Jx\\u{d}\\u{a}y\\u{202e}z): ")
    })
  )

  it.effect("keys are read raw while a question stands, and only then", () =>
    Effect.gen(function* () {
      const { promptForInput, enter, raw, shows } = yield* withTerminal
      const asking = yield* Effect.forkChild(promptForInput(token))
      yield* shows("[hidden]")
      assert.isTrue(raw())
      yield* enter("x")
      yield* Fiber.join(asking)
      assert.isFalse(raw())
    })
  )

  it.effect("of two questions the second waits for the first one's answer", () =>
    Effect.gen(function* () {
      const { promptForInput, enter, screen, shows } = yield* withTerminal
      const first = yield* Effect.forkChild(promptForInput(name), { startImmediately: true })
      const second = yield* Effect.forkChild(promptForInput(token), { startImmediately: true })
      yield* shows('"name"')
      assert.notInclude(screen(), '"token"')
      yield* enter("one")
      yield* shows('"token"')
      yield* enter("two")
      assert.deepStrictEqual(yield* Fiber.join(first), Option.some("one"))
      assert.deepStrictEqual(yield* Fiber.join(second), Option.some("two"))
    })
  )

  it.effect("a terminal that closes gives no answer, now and later", () =>
    Effect.gen(function* () {
      const { promptForInput, close, shows } = yield* withTerminal
      const asking = yield* Effect.forkChild(promptForInput(name))
      yield* shows('"name"')
      yield* close
      assert.isTrue(Option.isNone(yield* Fiber.join(asking)))
      assert.isTrue(Option.isNone(yield* promptForInput(name)))
    })
  )

  it.effect("Ctrl-D gives no answer", () =>
    Effect.gen(function* () {
      const { promptForInput, interrupts, shows, type } = yield* withTerminal
      const asking = yield* Effect.forkChild(promptForInput(token))
      yield* shows('"token"')
      yield* type("\u0004")
      assert.isTrue(Option.isNone(yield* Fiber.join(asking)))
      assert.strictEqual(interrupts(), 0)
    })
  )

  it.effect("Ctrl-C quits, with the terminal as it was", () =>
    Effect.gen(function* () {
      const { promptForInput, interrupts, raw, shows, type } = yield* withTerminal
      const asking = yield* Effect.forkChild(promptForInput(token))
      yield* shows('"token"')
      yield* type("s3c\u0003")
      yield* Fiber.join(asking)
      assert.strictEqual(interrupts(), 1)
      assert.isFalse(raw())
    })
  )

  it.effect("a question that is interrupted is withdrawn, and the next one stands", () =>
    Effect.gen(function* () {
      const { promptForInput, enter, raw, screen, shows } = yield* withTerminal
      const asking = yield* Effect.forkChild(promptForInput(name))
      yield* shows('"name"')
      yield* Fiber.interrupt(asking)
      yield* shows("(the question is withdrawn)")
      assert.isFalse(raw())
      const next = yield* Effect.forkChild(promptForInput(token))
      yield* shows('"token"')
      yield* enter("x")
      assert.deepStrictEqual(yield* Fiber.join(next), Option.some("x"))
      assert.strictEqual(screen().split("withdrawn").length, 2)
    })
  )
})

describe("lines above a question", () => {
  it.effect("the question comes again, with what was typed so far", () =>
    Effect.gen(function* () {
      const { promptForInput, dialogue, enter, screen, shows, type } = yield* withTerminal
      const asking = yield* Effect.forkChild(promptForInput(name))
      yield* shows("(Your name): ")
      yield* type("Ad")
      yield* shows("Ad")
      dialogue.printAbove("news\n")
      yield* shows("(Your name): Ad")
      const [before = "", after = ""] = screen().split("news\n")
      assert.isTrue(before.endsWith("\r\u001b[J"))
      assert.include(after, 'Value of "name" (Your name): Ad')
      yield* enter("a")
      assert.deepStrictEqual(yield* Fiber.join(asking), Option.some("Ada"))
    })
  )

  it.effect("case 215: a password that is half typed does not appear", () =>
    Effect.gen(function* () {
      const { promptForInput, dialogue, enter, screen, shows, type } = yield* withTerminal
      const asking = yield* Effect.forkChild(promptForInput(token))
      yield* shows("[hidden]: ")
      yield* type("s3c")
      dialogue.printAbove("news\n")
      yield* shows("[hidden]: ", 2)
      yield* enter("ret")
      assert.deepStrictEqual(yield* Fiber.join(asking), Option.some("s3cret"))
      assert.notInclude(screen(), "s3c")
    })
  )

  it.effect("they are just written when no question stands", () =>
    Effect.gen(function* () {
      const { dialogue, screen, shows } = yield* withTerminal
      dialogue.printAbove("news\n")
      yield* shows("news")
      assert.strictEqual(screen(), "news\n")
    })
  )
})

describe("asking for consent", () => {
  it.live("yes, no and always, no being whatever is no clear yes", () =>
    Effect.gen(function* () {
      const answers = ["y", " YES ", "a", "Always", "n", "", "yeah", "no"]
      const verdicts = yield* Effect.forEach(
        answers,
        (answer) => Effect.map(decided(answer), ({ verdict }) => verdict),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(verdicts, ["allow", "allow", "allow_always", "allow_always", "deny", "deny", "deny", "deny"])
    })
  )

  it.live("who asks for what is shown", () =>
    Effect.gen(function* () {
      const { screen } = yield* decided("n", request({ path: "/tmp/x", force: true }))
      assert.include(screen, 'Agent "ada" wants to call "remove" of server "files"')
      assert.include(screen, '  | {\n  |   "path": "/tmp/x",\n  |   "force": true\n  | }\n')
    })
  )

  it.live("lines break before the edge of the terminal, or at 80 columns where there is none", () =>
    Effect.gen(function* () {
      const asked = request({ text: `${"x".repeat(200)}${"\u6f22".repeat(100)}` })
      const longest = (screen: string) =>
        Math.max(
          ...screen
            .split("\n")
            .filter((line) => line.startsWith("  | "))
            .map((line) => line.length)
        )
      assert.strictEqual(longest((yield* decided("n", asked, 30)).screen), 30)
      assert.strictEqual(longest((yield* decided("n", asked, 0)).screen), 80)
    })
  )

  it.live("arguments and names cannot forge the terminal", () =>
    Effect.gen(function* () {
      const forged = "\u001b[2J\u009b1A\u007f\r\n\u2028\u202e\u200b\u{e0041}"
      const { screen } = yield* decided("n", {
        ...request({ [forged]: forged, pad: `${" ".repeat(200)}Run it? y` }),
        agent: forged,
        tool: forged
      })
      const spelled = "\\u{1b}[2J\\u{9b}1A\\u{7f}\\u{d}\\u{a}\\u{2028}\\u{202e}\\u{200b}\\u{e0041}"
      const shown = screen.slice(0, screen.indexOf("\u001b[1G"))
      const [head = "", ...lines] = shown.split("\n")
      assert.include(head, `Agent "${spelled}" wants to call "${spelled}"`)
      assert.notMatch(shown, /[^\n\P{C}]/u)
      assert.deepStrictEqual(
        lines.slice(0, -1).filter((line) => !line.startsWith("  | ") || line.length > 80),
        []
      )
    })
  )

  it.live("arguments that are too long are cut, and that is said", () =>
    Effect.gen(function* () {
      const { screen } = yield* decided("n", request({ numbers: Array.from({ length: 1000 }, () => 7) }))
      assert.include(screen, "  | (cut: 964 more lines are not shown)\n")
      assert.isBelow(screen.split("\n").length, 50)
    })
  )

  it.live("what was typed before the question stood is no answer to it", () =>
    Effect.gen(function* () {
      const { promptForInput, promptForConsent, enter, shows, type } = yield* withTerminal
      const asking = yield* Effect.forkChild(promptForInput(name), { startImmediately: true })
      const deciding = yield* Effect.forkChild(promptForConsent(request()), { startImmediately: true })
      yield* shows('"name"')
      yield* enter("Ada")
      yield* type("n\rno\rx")
      assert.deepStrictEqual(yield* Fiber.join(asking), Option.some("Ada"))
      yield* shows("Run it?")
      yield* enter("y")
      assert.strictEqual(yield* Fiber.join(deciding), "allow")
    })
  )

  it.live("Ctrl-C quits, even before the question stands", () =>
    Effect.gen(function* () {
      const { promptForConsent, interrupts, shows, type } = yield* withTerminal
      const deciding = yield* Effect.forkChild(promptForConsent(request()), { startImmediately: true })
      yield* shows("wants to call")
      yield* type("\u0003")
      assert.strictEqual(yield* Fiber.join(deciding), "deny")
      assert.strictEqual(interrupts(), 1)
    })
  )

  it.live("a closed terminal says no", () =>
    Effect.gen(function* () {
      const { close, promptForConsent } = yield* withTerminal
      yield* close
      assert.strictEqual(yield* promptForConsent(request()), "deny")
    })
  )

  it.live("a call that ends while its question stands takes the question back", () =>
    Effect.gen(function* () {
      const { promptForConsent, raw, shows } = yield* withTerminal
      const deciding = yield* Effect.forkChild(promptForConsent(request()))
      yield* shows("Run it?")
      yield* Fiber.interrupt(deciding)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(deciding)))
      yield* shows("withdrawn: the call was cancelled or its time is up")
      assert.isFalse(raw())
    })
  )

  it.live("a call that ends while others are asked about is never shown", () =>
    Effect.gen(function* () {
      const { promptForInput, promptForConsent, enter, screen, shows } = yield* withTerminal
      const asking = yield* Effect.forkChild(promptForInput(name), { startImmediately: true })
      const deciding = yield* Effect.forkChild(promptForConsent(request()), { startImmediately: true })
      yield* shows('"name"')
      yield* Fiber.interrupt(deciding)
      yield* enter("x")
      yield* Fiber.join(asking)
      assert.notInclude(screen(), "remove")
      assert.notInclude(screen(), "withdrawn")
    })
  )
})
