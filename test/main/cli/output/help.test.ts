import { assert, describe, expect, it } from "@effect/vitest"
import { Array, Effect } from "effect"
import { CliOutput } from "effect/cli"
import { readCommands } from "../../../../scripts/reference/commands.ts"
import { formatHelp } from "../../../../src/main/cli/output/help.ts"

const withoutColours = (_colour: string, text: string) => text

describe("the help of all commands", () => {
  for (const columns of [40, 80, 120]) {
    it.effect(`fits ${columns} columns`, () =>
      Effect.gen(function* () {
        const texts = (yield* readCommands).map(({ doc, path }) =>
          // A subcommand repeats these flags.
          formatHelp(path === "a2c" ? doc : { ...doc, globalFlags: [], inheritedFlags: [] }, columns, withoutColours)
        )
        const tooWide = texts
          .flatMap((text) => text.split("\n"))
          .filter((line) => CliOutput.displayWidth(line) > columns)
        assert.deepStrictEqual(tooWide, [])
        const file = texts.join(`\n\n${"-".repeat(columns)}\n\n`)
        yield* Effect.promise(() => expect(`${file}\n`).toMatchFileSnapshot(`help-${columns}.txt`))
      })
    )
  }

  it.effect("has the same words in every width", () =>
    Effect.gen(function* () {
      const wordsAt = (columns: number) =>
        Effect.map(readCommands, (all) =>
          all.map(({ doc }) =>
            formatHelp(doc, columns, withoutColours)
              .split(/\s+/)
              .filter((word) => !["\\", "#"].includes(word))
          )
        )
      assert.deepStrictEqual(yield* wordsAt(40), yield* wordsAt(120))
    })
  )

  it.effect("has each flag of a command once", () =>
    Effect.gen(function* () {
      for (const { doc, path } of yield* readCommands) {
        const text = formatHelp(doc, 80, withoutColours)
        const shown = [...text.matchAll(/^ {2}--([a-z-]+)/gm)].map(([, name]) => name)
        const flags = [...doc.flags, ...(doc.inheritedFlags ?? []), ...(doc.globalFlags ?? [])]
        assert.sameMembers(
          shown,
          flags.map(({ name }) => name),
          path
        )
        assert.deepStrictEqual(shown, Array.dedupe(shown), path)
      }
    })
  )
})
