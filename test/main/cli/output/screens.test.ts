import { assert, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { a2cOnTerminal } from "../../screen.ts"
import { scriptedOffice } from "./scriptedOffice.ts"

interface OnScreen {
  readonly args: (url: string) => ReadonlyArray<string>
  /** The last words that the command shows. */
  readonly last: string
  /** The command draws until a person ends it. */
  readonly isLive: boolean
}

const agent = (url: string, ...words: ReadonlyArray<string>) => ["agent", "--server", url, "--office", "team", ...words]

/** The commands that run until they are ended or draw over what they have shown, and the demo. */
const commands: { readonly [name: string]: OnScreen } = {
  watch: { args: (url) => agent(url, "watch"), last: "command", isLive: true },
  members: { args: (url) => agent(url, "members", "--watch"), last: "maps", isLive: true },
  status: { args: (url) => ["server", "status", url, "--offices", "--watch"], last: "team", isLive: true },
  demo: { args: () => ["demo"], last: "--help.", isLive: false }
}

/** Removes times, and gives what else differs between two runs the same length in both. */
const withoutChance = (text: string): string =>
  text
    .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:7070")
    .replaceAll(/\s+\(\d+\.\d\d\s+s\)/g, "")
    .replaceAll(/^\d\d:\d\d:\d\d/gm, "12:00:00")
    .replace(/^Done in .*?\n\n/ms, "")

describe.each(Object.entries(commands))("a2c %s on a terminal", (name, { args, last }) => {
  it.live.each([40, 80, 120])("fits %i columns, and breaks no word", (columns) =>
    Effect.gen(function* () {
      const screen = yield* a2cOnTerminal(columns, ...args(yield* scriptedOffice))
      yield* screen.shows(last)
      assert.deepStrictEqual(screen.brokenLines(), [])
      const text = withoutChance(`${screen.lines().join("\n")}\n`)
      yield* Effect.promise(() => expect(text).toMatchFileSnapshot(`${name}-screen-${columns}.txt`))
    })
  )
})

describe.each(Object.entries(commands).filter(([, { isLive }]) => isLive))("a2c %s", (_, { args, last }) => {
  it.live("ends by Ctrl-C with the cursor below its lines", () =>
    Effect.gen(function* () {
      const screen = yield* a2cOnTerminal(80, ...args(yield* scriptedOffice))
      yield* screen.shows(last)
      const before = screen.lines()
      yield* screen.types("\u0003")
      assert.strictEqual(yield* screen.ended, 130)
      assert.isTrue(screen.hasCursor())
      const [lines, shown] = [screen.lines(), before].map((all) => all.join("\n"))
      assert.strictEqual(lines?.replace("^C", "").trimEnd(), shown)
    })
  )
})

describe.each(["members", "status"])("the live table of a2c %s", (name) => {
  it.live("is drawn again for another width", () =>
    Effect.gen(function* () {
      const command = commands[name]
      assert.isDefined(command)
      const url = yield* scriptedOffice
      const narrow = yield* a2cOnTerminal(40, ...command.args(url))
      yield* narrow.shows(command.last)
      const wide = yield* a2cOnTerminal(120, ...command.args(url))
      yield* wide.shows(command.last)
      yield* wide.resize(40)
      yield* wide.shows("…")
      assert.deepStrictEqual(wide.lines(), narrow.lines())
    })
  )
})
