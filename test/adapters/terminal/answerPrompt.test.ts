import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as JsonSchemaValidator from "../../../src/adapters/jsonSchema/JsonSchemaValidator.ts"
import { makeAnswerPrompt } from "../../../src/adapters/terminal/answerPrompt.ts"
import * as Dialogue from "../../../src/adapters/terminal/Dialogue.ts"
import { makeParamsCheck } from "../../../src/application/shared/paramsCheck.ts"
import type { JsonObject } from "../../../src/domain/json.ts"
import type { InputAnswer, InputRequest } from "../../../src/domain/model/InputRequest.ts"
import { makeTerminal } from "./terminal.ts"

const formOf = (properties: JsonObject, required: ReadonlyArray<string> = []): InputRequest => ({
  mode: "form",
  message: "Who are you?",
  schema: { type: "object", properties, required }
})

const origin = { tool: "book", server: "travel", computer: "desk" }

const startPrompt = Effect.fnUntraced(function* (request: InputRequest) {
  const terminal = makeTerminal()
  const dialogue = yield* Dialogue.make(terminal)
  const check = yield* Effect.provide(makeParamsCheck, JsonSchemaValidator.layer)
  const asking = yield* Effect.forkChild(makeAnswerPrompt(dialogue, check)(request, origin))
  return { ...terminal, asking }
})

/** Answers the question with these lines, each for a prompt that ends like this. */
const answered = Effect.fnUntraced(function* (request: InputRequest, ...lines: ReadonlyArray<string>) {
  const { asking, enter, screen, shows } = yield* startPrompt(request)
  for (const [index, line] of lines.entries()) {
    yield* shows("): ", index + 1)
    if (index === 0) yield* shows("Answer it? y(es), D(ecline it), c(lose it without an answer): ", 1)
    yield* enter(line)
  }
  return { answer: yield* Fiber.join(asking), screen: screen() }
})

/** The content that these lines enter into a form of one field, required unless it has a default. */
const entered = Effect.fnUntraced(function* (field: JsonObject, ...lines: ReadonlyArray<string>) {
  const required = Object.hasOwn(field, "default") ? [] : ["it"]
  const { answer, screen } = yield* answered(formOf({ it: field }, required), "y", ...lines, "y")
  return { value: answer.action === "accept" ? answer.content?.["it"] : answer, screen }
})

describe("prompt for a form", () => {
  it.live("shows where the question comes from, and its message", () =>
    Effect.gen(function* () {
      const { answer, screen } = yield* answered(formOf({}), "")
      assert.deepStrictEqual<InputAnswer>(answer, { action: "decline" })
      assert.include(
        screen,
        [
          "An MCP server asks for input:",
          '  | tool      "book"',
          '  | server    "travel"',
          '  | computer  "desk"',
          '  | message   "Who are you?"'
        ].join("\n")
      )
    })
  )

  it.live("answers with all fields after a confirmation that shows them", () =>
    Effect.gen(function* () {
      const request = formOf({ name: { type: "string", title: "Your name" }, age: { type: "integer" } }, ["name"])
      const { answer, screen } = yield* answered(request, "y", "Ada", "36", "y")
      assert.deepStrictEqual<InputAnswer>(answer, { action: "accept", content: { name: "Ada", age: 36 } })
      assert.include(screen, '  | title  "Your name"')
      assert.include(screen, '  |   "name: \\"Ada\\""')
    })
  )

  it.live("sends the answers for an empty line", () =>
    Effect.gen(function* () {
      const { answer } = yield* answered(formOf({ name: { type: "string" } }), "y", "Ada", "")
      assert.deepStrictEqual<InputAnswer>(answer, { action: "accept", content: { name: "Ada" } })
    })
  )

  it.live("asks for the fields again before it sends them, with what was entered as the defaults", () =>
    Effect.gen(function* () {
      const request = formOf({ name: { type: "string" }, age: { type: "integer" } })
      const { answer, screen } = yield* answered(request, "y", "Ada", "36", "n", "", "37", "y")
      assert.deepStrictEqual<InputAnswer>(answer, { action: "accept", content: { name: "Ada", age: 37 } })
      assert.include(screen, '  | default  "Ada"')
    })
  )

  it.live.each([
    ["d", "decline", "(question declined)"],
    ["c", "cancel", "(question closed without an answer)"]
  ] as const)("refuses to send its answers with %s, and says so", ([word, action, notice]) =>
    Effect.gen(function* () {
      const { answer, screen } = yield* answered(formOf({ name: { type: "string" } }), "y", "Ada", word)
      assert.deepStrictEqual<InputAnswer>(answer, { action })
      assert.include(screen, notice)
    })
  )

  it.live("closes the question without an answer before its fields", () =>
    Effect.gen(function* () {
      const { answer } = yield* answered(formOf({}), "c")
      assert.deepStrictEqual<InputAnswer>(answer, { action: "cancel" })
    })
  )

  it.live("leaves out an optional field without a value, and takes the default", () =>
    Effect.gen(function* () {
      const request = formOf({ name: { type: "string" }, size: { type: "string", default: "M" } })
      const { answer } = yield* answered(request, "y", "", "", "y")
      assert.deepStrictEqual<InputAnswer>(answer, { action: "accept", content: { size: "M" } })
    })
  )

  it.live("asks again for an invalid value, with the reason", () =>
    Effect.gen(function* () {
      const { screen, value } = yield* entered({ type: "string", format: "email" }, "nonsense", "", "ada@example.com")
      assert.strictEqual(value, "ada@example.com")
      assert.include(screen, '  | invalid  "Enter an email address such as ann@example.org"')
      assert.include(screen, '  | invalid  "Required"')
    })
  )

  it.live.each<readonly [field: JsonObject, entered: string, problem: string, valid: string]>([
    [{ type: "integer", minimum: 1, maximum: 10 }, "11", "Enter a number from 1 to 10", "10"],
    [{ type: "integer" }, "ten", "Enter a whole number such as 3", "3"],
    [{ type: "string", format: "date" }, "tomorrow", "Enter a date such as 2026-11-29", "2026-11-29"],
    [{ type: "string", maxLength: 3 }, "long", "At most 3 characters", "abc"],
    [{ type: "boolean" }, "maybe", "'maybe': enter y or n", "n"],
    [{ enum: ["a", "b"] }, "x", "'x': enter the number or the text of one of the values", "2"]
  ])("says what it wants of %j", ([field, wrong, problem, valid]) =>
    Effect.gen(function* () {
      const { screen } = yield* entered(field, wrong, valid)
      assert.include(screen, `  | invalid  "${problem}"`)
    })
  )

  it.live("asks for a value until it is valid", () =>
    Effect.gen(function* () {
      const { value } = yield* entered({ type: "integer", minimum: 3 }, "2", "", "x", "2.5", "", "3")
      assert.strictEqual(value, 3)
    })
  )

  it.live.each<readonly [field: JsonObject, prompt: string, valid: string]>([
    [
      { type: "integer", minimum: 1, maximum: 100, default: 42 },
      "Integer from 1 to 100 (Enter for the default 42): ",
      "7"
    ],
    [{ type: "number", minimum: 0 }, "Number, at least 0 (required): ", "7"],
    [{ type: "string", format: "date" }, "Date such as 2026-11-29 (required): ", "2026-11-30"],
    [{ type: "string", minLength: 1, maxLength: 9 }, "Text, from 1 to 9 characters (required): ", "x"],
    [{ type: "string", maxLength: 1 }, "Text, at most 1 character (required): ", "x"],
    [
      { type: "array", minItems: 1, items: { enum: ["a", "b"] } },
      "Numbers of the values, with commas, at least 1 value (required): ",
      "1"
    ]
  ])("states the limits of %j before it is entered", ([field, prompt, valid]) =>
    Effect.gen(function* () {
      const { screen } = yield* entered(field, valid)
      assert.include(screen, prompt)
    })
  )

  it.live("asks again for a word that is no reply, and keeps what was entered", () =>
    Effect.gen(function* () {
      const { answer, screen } = yield* answered(formOf({ it: { type: "string" } }), "y", "Ada", "1", "y")
      assert.deepStrictEqual<InputAnswer>(answer, { action: "accept", content: { it: "Ada" } })
      assert.lengthOf(screen.split("The answer:"), 3)
      assert.include(screen, `  | invalid  "'1': enter one of the letters below"`)
    })
  )

  it.live.each<readonly [wrong: string, part: string]>([
    ["1 2", "1 2"],
    ["a,x", "x"]
  ])("names the part of %j that is not one of the values", ([wrong, part]) =>
    Effect.gen(function* () {
      const { screen } = yield* entered({ type: "array", items: { enum: ["a", "b"] } }, wrong, "a,b")
      assert.include(screen, `  | invalid  "'${part}': enter the numbers or the texts of values, with commas"`)
    })
  )

  it.live("reads numbers, flags and JSON", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* entered({ type: "number" }, "2.5")).value, 2.5)
      assert.strictEqual((yield* entered({ type: "boolean" }, "maybe", "n")).value, false)
      assert.deepStrictEqual<unknown>(
        (yield* entered({ type: "array", items: { type: "number" } }, "[1, 2]")).value,
        [1, 2]
      )
    })
  )

  it.live("reads a choice by its number, its value or its title", () =>
    Effect.gen(function* () {
      const titled = {
        type: "string",
        oneOf: [
          { const: "r", title: "Red" },
          { const: "g", title: "Green" }
        ]
      }
      const { screen, value } = yield* entered(titled, "blue", "Green")
      assert.strictEqual(value, "g")
      assert.include(screen, '  | 1)     "r (Red)"')
      assert.strictEqual((yield* entered({ enum: ["a", "b"] }, "2")).value, "b")
      assert.strictEqual((yield* entered({ enum: ["a", "b"], enumNames: ["One", "Two"] }, "One")).value, "a")
    })
  )

  it.live("reads several choices", () =>
    Effect.gen(function* () {
      const items = {
        anyOf: [
          { const: "r", title: "Red" },
          { const: "g", title: "Green" }
        ]
      }
      assert.deepStrictEqual<unknown>((yield* entered({ type: "array", items }, "1, Green")).value, ["r", "g"])
    })
  )

  it.live("shows nothing of a secret", () =>
    Effect.gen(function* () {
      const { screen, value } = yield* entered({ type: "string", format: "password" }, "s3cret")
      assert.strictEqual(value, "s3cret")
      assert.notInclude(screen, "s3cret")
      assert.include(screen, "it: (hidden)")
    })
  )

  it.live("closes the question when the terminal is closed", () =>
    Effect.gen(function* () {
      const { asking, close, shows } = yield* startPrompt(formOf({ name: { type: "string" } }))
      yield* shows("Answer it?")
      yield* close
      assert.deepStrictEqual<InputAnswer>(yield* Fiber.join(asking), { action: "cancel" })
    })
  )

  it.live("says that another responder answered", () =>
    Effect.gen(function* () {
      const { asking, screen, shows } = yield* startPrompt(formOf({}))
      yield* shows("Answer it?")
      yield* Fiber.interrupt(asking)
      assert.include(screen(), "(question withdrawn: it was answered elsewhere, or its call has ended)")
    })
  )

  it.live("says what Ctrl-C ends", () =>
    Effect.gen(function* () {
      const terminal = { ...makeTerminal(), onInterrupt: Effect.never }
      const check = yield* Effect.provide(makeParamsCheck, JsonSchemaValidator.layer)
      const asking = yield* Effect.forkChild(
        makeAnswerPrompt(yield* Dialogue.make(terminal), check)(formOf({}), origin)
      )
      yield* terminal.shows("Answer it?")
      yield* terminal.type("\u0003")
      yield* terminal.shows("^C")
      yield* Fiber.interrupt(asking)
      assert.include(terminal.screen(), "(not answered: the test ends)")
    })
  )

  it.live("lets no text of a server look like the prompt", () =>
    Effect.gen(function* () {
      const forged = '"\nSend it? Y(es), n(o, change it): \u001b[2J\r'
      const request = {
        ...formOf({ [forged]: { type: "string", title: forged, description: forged } }),
        message: forged
      }
      const { screen } = yield* answered(request, "y", "x", "y")
      const lines = screen.split("\n").filter((line) => line.includes("Send it?") && !line.startsWith("  | "))
      assert.lengthOf(lines, 1)
      assert.notInclude(screen.replaceAll("\u001b[1G", "").replaceAll("\u001b[0J", ""), "\u001b[2J")
    })
  )
})

describe("prompt for a page", () => {
  const request: InputRequest = {
    mode: "url",
    message: "Sign in",
    url: `https://good.example@b\u00fccher.example/${"a".repeat(200)}?q=1`
  }

  it.live("shows the whole address alone in a line, and its host", () =>
    Effect.gen(function* () {
      const { asking, enter, screen, shows } = yield* startPrompt(request)
      yield* shows("Do you open it?")
      yield* enter("y")
      assert.deepStrictEqual<InputAnswer>(yield* Fiber.join(asking), { action: "accept" })
      assert.include(screen().split("\n"), `https://good.example@xn--bcher-kva.example/${"a".repeat(200)}?q=1`)
      assert.include(screen(), '  | host      "xn--bcher-kva.example"')
    })
  )

  it.live("declines it by default", () =>
    Effect.gen(function* () {
      const { asking, enter, shows } = yield* startPrompt(request)
      yield* shows("Do you open it?")
      yield* enter("")
      assert.deepStrictEqual<InputAnswer>(yield* Fiber.join(asking), { action: "decline" })
    })
  )
})
