import { spawnSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readArguments } from "../../../../src/main/cli/arguments/argumentSource.ts"
import { sourceCli, temporaryFile } from "../../processes.ts"

const messageOf = (words: ReadonlyArray<string>, args?: string) =>
  Effect.map(Effect.flip(readArguments(words, args)), ({ message }) => message)

describe("readArguments", () => {
  it.live("reads words by key: texts, files and JSON", () =>
    Effect.gen(function* () {
      const file = yield* temporaryFile("note.txt", "line\nä\n")
      const words = ["a=1", "b=x=y", `c=@${file}`, "d:=[1]", "e=", "f=@@literal", "g=a:=b"]
      assert.deepStrictEqual(yield* readArguments(words, undefined), {
        _tag: "ByKey",
        given: [
          { key: "a", text: "1" },
          { key: "b", text: "x=y" },
          { key: "c", text: "line\nä\n" },
          { key: "d", json: [1] },
          { key: "e", text: "" },
          { key: "f", text: "@literal" },
          { key: "g", text: "a:=b" }
        ]
      })
    })
  )

  it.live("reads all arguments from one word, from --args, or from a file", () =>
    Effect.gen(function* () {
      const file = yield* temporaryFile("args.json", '{"a": 1}')
      const whole = { _tag: "Whole", params: { a: 1 } } as const
      for (const [words, args] of [
        [['{"a": 1}'], undefined],
        [[`@${file}`], undefined],
        [[], `@${file}`],
        [[], '{"a":1}']
      ] as const) {
        assert.deepStrictEqual(yield* readArguments(words, args), whole)
      }
      assert.deepStrictEqual(yield* readArguments([], undefined), { _tag: "Whole", params: {} })
    })
  )

  it.live("rejects what it cannot read, with the reason", () =>
    Effect.gen(function* () {
      const binary = yield* temporaryFile("binary", "x")
      const list = yield* temporaryFile("list.json", "[]")
      yield* Effect.promise(async () => (await import("node:fs/promises")).writeFile(binary, Buffer.from([0xff])))
      for (const [words, args, message] of [
        [["hi"], undefined, "Invalid argument 'hi': expected KEY=VALUE, KEY=@FILE, KEY:=JSON, @FILE or -"],
        [["=1"], undefined, "Invalid argument '=1': expected KEY=VALUE, KEY=@FILE, KEY:=JSON, @FILE or -"],
        [["a=1", "a=2"], undefined, "The argument 'a' is given twice: give a list as JSON, 'a:=[…]'"],
        [["a:=["], undefined, "The value of 'a' is not JSON: ["],
        [["a=1"], "{}", "Give the arguments by --args or as words, not both"],
        [["a=@nowhere"], undefined, "Cannot read nowhere: the file does not exist"],
        [[`a=@${binary}`], undefined, `Cannot read ${binary}: it is not a text in UTF-8`],
        [[], "@nowhere", "Cannot read nowhere: the file does not exist"],
        [[`@${list}`], undefined, `${list} must be a JSON object`],
        [[], "[]", "--args must be a JSON object"],
        [[], "[", "--args is not JSON"]
      ] as const) {
        assert.strictEqual(yield* messageOf(words, args), message)
      }
    })
  )

  for (const word of ["x".repeat(10_000), `${"k".repeat(10_000)}:={`, `a:=${"[".repeat(10_000)}`]) {
    it.live(`quotes the start of a long invalid word such as ${word.slice(-8)}`, () =>
      Effect.gen(function* () {
        assert.isBelow((yield* messageOf([word, "b=1"])).length, 600)
      })
    )
  }

  it("reads stdin", () => {
    const args = [sourceCli, "agent", "--server", "http://127.0.0.1:9", "--office", "o", "call", "x"]
    for (const [words, input, message] of [
      [["-"], "[", "stdin is not JSON"],
      [["--args", "-"], "[]", "stdin must be a JSON object"],
      [["-"], '{"a": 1}', "Cannot reach http://127.0.0.1:9: connection refused"]
    ] as const) {
      const { status, stderr } = spawnSync(process.execPath, [...args, ...words], { input, encoding: "utf8" })
      assert.deepStrictEqual([status, stderr], [1, `a2c: ${message}\n`])
    }
  })

  it.live("reads no more of a file than a message may hold", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* messageOf(["a=@/dev/zero"]),
        `Cannot read /dev/zero: it is larger than ${16 * 1024 * 1024} bytes`
      )
    })
  )
})
