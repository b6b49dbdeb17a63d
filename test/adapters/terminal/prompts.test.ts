import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Option } from "effect"
import * as Dialogue from "../../../src/adapters/terminal/Dialogue.ts"
import { makeInputPrompt, makeConsentPrompt } from "../../../src/adapters/terminal/prompts.ts"
import type { Approval } from "../../../src/domain/approvals/Approval.ts"
import type { Input } from "../../../src/domain/config/computerConfig.ts"
import type { JsonObject } from "../../../src/domain/json.ts"
import { screenOf } from "./screen.ts"
import { makeTerminal } from "./terminal.ts"
import { type TestBody, effectWith, liveWith } from "../../testWith.ts"

type PromptInput = Exclude<Input, { readonly type: "command" }>

const optionsOf = (...values: ReadonlyArray<string>) => values.map((value) => ({ label: value, value }))

const name: PromptInput = { type: "promptString", id: "name", description: "Your name" }
const token: PromptInput = { type: "promptString", id: "token", description: "", password: true }
const size: PromptInput = {
  type: "pickString",
  id: "size",
  description: "",
  options: optionsOf("S", "M", "10"),
  default: "M"
}

const terminalOf = Effect.fnUntraced(function* (columns?: number, rows?: number) {
  const terminal = makeTerminal(columns, rows)
  const dialogue = yield* Dialogue.make(terminal)
  return {
    ...terminal,
    dialogue,
    promptForInput: makeInputPrompt(dialogue),
    promptForConsent: makeConsentPrompt(dialogue)
  }
})
const withTerminal = terminalOf()

type PromptTest = TestBody<Effect.Success<typeof withTerminal>>
const effect = (title: string, body: PromptTest) => effectWith(withTerminal)(title, body)
const live = (title: string, body: PromptTest) => liveWith(withTerminal)(title, body)

/** Asks and enters these lines, one for each time the question appears. */
const answered = Effect.fnUntraced(function* (input: PromptInput, prompt: string, ...lines: ReadonlyArray<string>) {
  const { promptForInput, enter, screen, shows } = yield* withTerminal
  const asking = yield* Effect.forkChild(promptForInput(input))
  for (const [index, line] of lines.entries()) {
    yield* shows(prompt, index + 1)
    yield* enter(line)
  }
  return { answer: Option.getOrUndefined(yield* Fiber.join(asking)), screen: screen() }
})

const allowOnce = { action: "allow", scope: "once", by: "terminal" } as const
const allowTool = { action: "allow", scope: "tool", by: "terminal" } as const
const denied = { action: "deny", by: "terminal" } as const

const request = (params: JsonObject = {}): Approval => ({
  computer: "desk",
  id: "0",
  caller: { _tag: "Agent", name: "ada", membership: 1 },
  requester: "ada",
  reqId: "r",
  server: "files",
  tool: "remove",
  shortName: "remove",
  argumentsDigest: "",
  toolDigest: "",
  requestedAt: 0,
  expiresAt: 0,
  askedBy: "default",
  params
})

/** A request in which this text stands for every name. */
const foreignNames = (text: string) => ({ requester: text, tool: text, server: text, computer: text })

/** Texts of a peer that wants to hide the call, or to look like the prompt. */
const hostileTexts = {
  "a long text": "x".repeat(100_000),
  "wide characters": "\u6f22".repeat(1000),
  "many lines": "a\n".repeat(1000),
  "escape sequences": "\u001b[2J\u001b[H\u009b2J".repeat(100),
  "carriage returns": `${"\r".repeat(100)}Run it? y`,
  "a forged question": `x"\n  | tool       "harmless"\nRun it? y(es), N(o)\n`,
  "labels behind blanks": `${" ".repeat(200)}  | tool       "harmless"${" ".repeat(200)}  | tool       "harmless"`
}

/** Asks for consent; returns the screen and the decision. */
const decided = Effect.fnUntraced(function* (answer: string, requests = request(), columns?: number) {
  const { promptForConsent, enter, screen, shows } = yield* terminalOf(columns)
  const deciding = yield* Effect.forkChild(promptForConsent(requests))
  yield* shows("Run it? y(es)")
  yield* enter(answer)
  return { verdict: yield* Fiber.join(deciding), screen: screen() }
})

describe("input prompt", () => {
  it.effect("echoes and returns a string", () =>
    Effect.gen(function* () {
      const { answer, screen } = yield* answered(name, "Value: ", "Ada Lovelace")
      assert.strictEqual(answer, "Ada Lovelace")
      assert.include(screen, "Ada Lovelace")
    })
  )

  it.effect("shows the input and its description above the question", () =>
    Effect.gen(function* () {
      const { screen } = yield* answered(name, "Value: ", "")
      assert.include(screen, '  | input  "name"\n  | about  "Your name"\n')
    })
  )

  it.effect("case 215: echoes nothing of a password", () =>
    Effect.gen(function* () {
      const { answer, screen } = yield* answered(token, "[hidden]: ", "s3cret")
      assert.strictEqual(answer, "s3cret")
      assert.isTrue(screen.endsWith('  | input  "token"\nValue [hidden]: \n'))
    })
  )

  it.effect("case 215: hides the default of a password", () =>
    Effect.gen(function* () {
      const { answer, screen } = yield* answered({ ...token, default: "s3cret" }, "has a default]: ", "")
      assert.isUndefined(answer)
      assert.notInclude(screen, "s3cret")
    })
  )

  it.effect("shows the default, and selects it for an empty line", () =>
    Effect.gen(function* () {
      const { answer, screen } = yield* answered({ ...name, default: "Bob" }, "Value: ", "")
      assert.isUndefined(answer)
      assert.include(screen, '  | default  "Bob"\n')
    })
  )

  const labelled: PromptInput = {
    ...size,
    options: [
      { label: "Small", value: "S" },
      { label: "Large", value: "L" }
    ]
  }
  const spaced: PromptInput = { ...size, options: optionsOf(" S ", "M") }
  const twelve = Array.from({ length: 12 }, (_, index) => `option ${index + 1}`)
  const many: PromptInput = { ...size, options: optionsOf(...twelve) }

  it.effect.each<readonly [title: string, input: PromptInput, lines: ReadonlyArray<string>, expected?: string]>([
    ["takes an option by its number", size, ["1"], "S"],
    ["takes an option by its text", size, ["M"], "M"],
    ["takes an option by its text, which is also a number", size, ["10"], "10"],
    ["takes an option by its label", labelled, ["Large"], "L"],
    ["takes an option by its value", labelled, ["L"], "L"],
    ["takes an option with a label by its number", labelled, ["2"], "L"],
    ["ignores white space around an option", spaced, ["S"], " S "],
    ["ignores white space around an answer", spaced, ["  M "], "M"],
    ["ignores white space around a number", spaced, [" 2 "], "M"],
    ["takes a number of several digits", many, ["12"], "option 12"],
    ["takes no number with something beside it", many, ["1x", "x1", "1 2"]],
    ["asks a third time for an option", size, ["XL", "4", "2"], "M"],
    ["asks at most three times for an option", size, ["0", "-1", "x"]]
  ])("%s", ([, input, lines, expected]) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* answered(input, "Number or text", ...lines)).answer, expected)
    })
  )

  it.effect("shows options with their numbers and labels", () =>
    Effect.gen(function* () {
      const plain = yield* answered(size, "Number or text: ", "1")
      assert.include(plain.screen, '  | 1)       "S"\n  | 2)       "M"\n  | 3)       "10"\n')
      assert.include((yield* answered(labelled, "Number or text", "L")).screen, '"S (Small)"')
    })
  )

  it.effect("shows as many options as the terminal has rows for, and counts the others", () =>
    Effect.gen(function* () {
      const screenWith = Effect.fnUntraced(function* (count: number, rows: number) {
        const { enter, promptForInput, screen, shows } = yield* terminalOf(80, rows)
        const options = optionsOf(...Array.from({ length: count }, (_, index) => `option ${index + 1}`))
        const asking = yield* Effect.forkChild(promptForInput({ ...size, options, default: "option 1" }))
        yield* shows("Number or text")
        yield* enter("")
        yield* Fiber.join(asking)
        return screen()
      })
      const full = yield* screenWith(13, 24)
      assert.include(full, '"option 13"')
      assert.notInclude(full, "more options")
      const short = yield* screenWith(15, 24)
      assert.include(short, '"option 13"')
      assert.notInclude(short, '"option 14"')
      assert.include(short, "(2 more options)")
      assert.include(yield* screenWith(13, 0), '"option 13"')
    })
  )

  it.effect("escapes the description", () =>
    Effect.gen(function* () {
      const description = "\u001b[2Jx\r\ny\u202ez"
      const { screen } = yield* answered({ ...name, description }, ": ", "a")
      assert.include(screen, String.raw`"\u001b[2Jx\r\ny\u202ez"`)
    })
  )

  effect("uses raw mode only while a question is open", function* ({ promptForInput, enter, raw, shows }) {
    const asking = yield* Effect.forkChild(promptForInput(token))
    yield* shows("[hidden]")
    assert.isTrue(raw())
    yield* enter("x")
    yield* Fiber.join(asking)
    assert.isFalse(raw())
  })

  effect("asks one question at a time", function* ({ promptForInput, enter, screen, shows }) {
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

  effect("returns no answer when the terminal closes, or is closed", function* ({ promptForInput, close, shows }) {
    const asking = yield* Effect.forkChild(promptForInput(name))
    yield* shows('"name"')
    yield* close
    assert.isTrue(Option.isNone(yield* Fiber.join(asking)))
    assert.isTrue(Option.isNone(yield* promptForInput(name)))
  })

  effect("returns no answer on Ctrl-D", function* ({ promptForInput, interrupts, shows, type }) {
    const asking = yield* Effect.forkChild(promptForInput(token))
    yield* shows('"token"')
    yield* type("\u0004")
    assert.isTrue(Option.isNone(yield* Fiber.join(asking)))
    assert.strictEqual(interrupts(), 0)
  })

  effect(
    "restores the terminal and raises the interrupt on Ctrl-C",
    function* ({ promptForInput, interrupts, raw, shows, type }) {
      const asking = yield* Effect.forkChild(promptForInput(token))
      yield* shows('"token"')
      yield* type("s3c\u0003")
      yield* Fiber.join(asking)
      assert.strictEqual(interrupts(), 1)
      assert.isFalse(raw())
    }
  )

  effect(
    "cancels an interrupted question and asks the next one",
    function* ({ promptForInput, enter, raw, screen, shows }) {
      const asking = yield* Effect.forkChild(promptForInput(name))
      yield* shows('"name"')
      yield* Fiber.interrupt(asking)
      yield* shows("(question cancelled)")
      assert.isFalse(raw())
      const next = yield* Effect.forkChild(promptForInput(token))
      yield* shows('"token"')
      yield* enter("x")
      assert.deepStrictEqual(yield* Fiber.join(next), Option.some("x"))
      assert.strictEqual(screen().split("question cancelled").length, 2)
    }
  )
})

describe("line above a question", () => {
  effect(
    "redraws the question with its typed text",
    function* ({ promptForInput, dialogue, enter, screen, shows, type }) {
      const asking = yield* Effect.forkChild(promptForInput(name))
      yield* shows("Value: ")
      yield* type("Ad")
      yield* shows("Ad")
      dialogue.printAbove("news\n")
      yield* shows("Value: Ad")
      const [first, ...others] = screenOf(screen(), { columns: 80, rows: 24 })
      assert.strictEqual(first, "news")
      assert.deepStrictEqual(others, [
        "An MCP server needs a value:",
        '  | input  "name"',
        '  | about  "Your name"',
        "Value: Ad"
      ])
      yield* enter("a")
      assert.deepStrictEqual(yield* Fiber.join(asking), Option.some("Ada"))
    }
  )

  effect(
    "case 215: hides a partly typed password",
    function* ({ promptForInput, dialogue, enter, screen, shows, type }) {
      const asking = yield* Effect.forkChild(promptForInput(token))
      yield* shows("[hidden]: ")
      yield* type("s3c")
      dialogue.printAbove("news\n")
      yield* shows("[hidden]: ", 2)
      yield* enter("ret")
      assert.deepStrictEqual(yield* Fiber.join(asking), Option.some("s3cret"))
      assert.notInclude(screen(), "s3c")
    }
  )

  effect("writes the line when no question is open", function* ({ dialogue, screen, shows }) {
    dialogue.printAbove("news\n")
    yield* shows("news")
    assert.strictEqual(screen(), "news\n")
  })
})

describe("consent prompt", () => {
  it.live("accepts yes and always, and treats other answers as no", () =>
    Effect.gen(function* () {
      const answers = ["y", " YES ", "a", "Always", "n", "", "yeah", "no"]
      const verdicts = yield* Effect.forEach(
        answers,
        (answer) => Effect.map(decided(answer), ({ verdict }) => verdict),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(verdicts, [allowOnce, allowOnce, allowTool, allowTool, denied, denied, denied, denied])
    })
  )

  it.live("shows the tool, the server and the Computer before the Agent and the arguments", () =>
    Effect.gen(function* () {
      const { screen } = yield* decided("n", request({ path: "/tmp/x", force: true }))
      const lines = [
        "A tool call needs your consent:",
        '  | tool       "remove"',
        '  | server     "files"',
        '  | computer   "desk"',
        '  | agent      "ada"',
        "  | arguments  {",
        '  |              "path": "/tmp/x",',
        '  |              "force": true',
        "  |            }"
      ]
      assert.isTrue(screen.startsWith(`${lines.join("\n")}\n`))
    })
  )

  it.live("wraps lines at the width of the terminal, or at 80 columns", () =>
    Effect.gen(function* () {
      const requests = request({ text: `${"x".repeat(200)}${"\u6f22".repeat(100)}` })
      const longest = (screen: string) =>
        Math.max(
          ...screen
            .split("\n")
            .filter((line) => line.startsWith("  | "))
            .map((line) => line.length)
        )
      assert.strictEqual(longest((yield* decided("n", requests, 30)).screen), 30)
      assert.strictEqual(longest((yield* decided("n", requests, 0)).screen), 80)
    })
  )

  it.live("escapes control, bidirectional and invisible characters of every foreign text", () =>
    Effect.gen(function* () {
      const forged = "\u001b[2J\u009b1A\u007f\r\n\u2028\u202e\u200b\u3164\u00ad\ufff9\u{e0041}\ud800"
      const { screen } = yield* decided("n", {
        ...request({ [forged]: forged, pad: `${" ".repeat(200)}Run it? y` }),
        ...foreignNames(forged)
      })
      const escaped = String.raw`\u001b[2J\u009b1A\u007f\r\n\u2028\u202e\u200b\u3164\u00ad\ufff9\udb40\udc41\ud800`
      const shown = screen.slice(0, screen.indexOf("\u001b[1G"))
      for (const label of ["tool", "server", "computer", "agent"]) {
        assert.match(shown, new RegExp(`^ {2}\\| ${label} +"\\\\u001b\\[2J`, "m"))
      }
      assert.include(shown.replaceAll(/\n {2}\| +/g, ""), `"${escaped}": "${escaped}"`)
      assert.notMatch(shown, /[^\n\P{C}]|\p{Default_Ignorable_Code_Point}/u)
      assert.deepStrictEqual(
        shown.split("\n").filter((line) => line.length > 80),
        []
      )
    })
  )

  for (const [kind, text] of Object.entries(hostileTexts)) {
    for (const size of [
      { columns: 80, rows: 24 },
      { columns: 40, rows: 12 }
    ]) {
      it.live(`keeps its lines on a screen of ${size.columns} columns for ${kind}`, () =>
        Effect.gen(function* () {
          const { promptForConsent, enter, screen, shows } = yield* terminalOf(size.columns, size.rows)
          const requests = {
            ...request({ [text]: { list: [text, text] }, text }),
            ...foreignNames(text),
            tool: "remove"
          }
          const deciding = yield* Effect.forkChild(promptForConsent(requests))
          yield* shows("in this office): ")
          const seen = screenOf(screen(), size)
          const question = seen.findIndex((line) => line.startsWith("Run it? y(es), N(o)"))
          assert.strictEqual(seen[0], "A tool call needs your consent:")
          assert.match(seen[1] ?? "", /^ {2}\| tool {7}"remove"$/)
          const labels = seen
            .slice(1, question)
            .map((line) => /^ {2}\| (.{11})/.exec(line.padEnd(size.columns))?.[1]?.trim())
          const notice = labels.includes("(the rest i") ? ["(the rest i"] : []
          assert.deepStrictEqual(
            labels.filter((label) => label !== ""),
            ["tool", "server", "computer", "agent", "arguments", ...notice]
          )
          yield* enter("n")
          assert.deepStrictEqual(yield* Fiber.join(deciding), denied)
        })
      )
    }
  }

  it.live("stays complete below log lines that arrive while it is open", () =>
    Effect.gen(function* () {
      const size = { columns: 80, rows: 24 }
      const { dialogue, promptForConsent, enter, screen, shows } = yield* terminalOf(size.columns, size.rows)
      const deciding = yield* Effect.forkChild(promptForConsent(request({ path: "/tmp/x" })))
      yield* shows("Run it? y(es)")
      const before = screenOf(screen(), size)
      for (let count = 0; count < 100; count++) dialogue.printAbove(`line ${count}\n`)
      yield* shows("line 99")
      const after = screenOf(screen(), size)
      assert.deepStrictEqual(after.slice(-before.length), before)
      assert.strictEqual(after.at(-before.length - 1), "line 99")
      yield* enter("n")
      yield* Fiber.join(deciding)
    })
  )

  it.live("shows the start and the end of a name that is too long", () =>
    Effect.gen(function* () {
      const { screen } = yield* decided("n", { ...request(), tool: `delete_${"x".repeat(1000)}_all` }, 60)
      assert.match(screen, /^ {2}\| tool {7}"delete_x+" … "x+_all"$/m)
    })
  )

  it.live("truncates long arguments with a notice", () =>
    Effect.gen(function* () {
      const { screen } = yield* decided("n", request({ numbers: Array.from({ length: 1000 }, () => 7) }))
      assert.include(screen, "  | (the rest is not shown)\n")
    })
  )

  it.live("takes no longer for arguments of 14 MB than for the part that it shows", () =>
    Effect.gen(function* () {
      const text = "x".repeat(14 * 1024 * 1024)
      const touched: Array<string> = []
      const list = new Proxy(
        Array.from({ length: 1_000_000 }, () => 7),
        {
          get: (target, name) => {
            touched.push(String(name))
            return Reflect.get(target, name) as unknown
          }
        }
      )
      const { dialogue, enter, promptForConsent, screen, shows } = yield* terminalOf()
      const requests = { ...request({ list, text }), tool: text, server: text, requester: text }
      const deciding = yield* Effect.forkChild(promptForConsent(requests))
      yield* shows("in this office): ")
      assert.isBelow(touched.length, 100)
      const touchedOnce = touched.length
      dialogue.printAbove("a line of the log\n")
      yield* enter("n")
      yield* Fiber.join(deciding)
      assert.strictEqual(touched.length, touchedOnce)
      assert.isBelow(screen().length, 24 * 80 * 4)
    })
  )

  live("ignores input typed before the question", function* ({ promptForInput, promptForConsent, enter, shows, type }) {
    const asking = yield* Effect.forkChild(promptForInput(name), { startImmediately: true })
    const deciding = yield* Effect.forkChild(promptForConsent(request()), { startImmediately: true })
    yield* shows('"name"')
    yield* enter("Ada")
    yield* type("n\rno\rx")
    assert.deepStrictEqual(yield* Fiber.join(asking), Option.some("Ada"))
    yield* shows("Run it?")
    yield* enter("y")
    assert.deepStrictEqual(yield* Fiber.join(deciding), allowOnce)
  })

  live("raises the interrupt on Ctrl-C before the question", function* ({ promptForConsent, interrupts, shows, type }) {
    const deciding = yield* Effect.forkChild(promptForConsent(request()), { startImmediately: true })
    yield* shows("needs your consent")
    yield* type("\u0003")
    assert.deepStrictEqual(yield* Fiber.join(deciding), denied)
    assert.strictEqual(interrupts(), 1)
  })

  live("returns no on a closed terminal", function* ({ close, promptForConsent }) {
    yield* close
    assert.deepStrictEqual(yield* promptForConsent(request()), denied)
  })

  live("cancels the question of a call that ends", function* ({ promptForConsent, raw, shows }) {
    const deciding = yield* Effect.forkChild(promptForConsent(request()))
    yield* shows("Run it?")
    yield* Fiber.interrupt(deciding)
    assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(deciding)))
    yield* shows("question withdrawn: the call was decided elsewhere, was cancelled or timed out")
    assert.isFalse(raw())
  })

  live(
    "never shows a call that ends before its turn",
    function* ({ promptForInput, promptForConsent, enter, screen, shows }) {
      const asking = yield* Effect.forkChild(promptForInput(name), { startImmediately: true })
      const deciding = yield* Effect.forkChild(promptForConsent(request()), { startImmediately: true })
      yield* shows('"name"')
      yield* Fiber.interrupt(deciding)
      yield* enter("x")
      yield* Fiber.join(asking)
      assert.notInclude(screen(), "remove")
      assert.notInclude(screen(), "question cancelled")
    }
  )
})
