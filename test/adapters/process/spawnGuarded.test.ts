import { chmodSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule, type Scope } from "effect"
import { linesOf } from "../../main/computers.ts"
import { type Cli, node, temporaryFile } from "../../main/processes.ts"
import { alive, descendants, familyOf, gone, kill, processes } from "../../processes.ts"

const parent = fileURLToPath(new URL("../../fixtures/parentOf.ts", import.meta.url))
const peer = fileURLToPath(new URL("../../fixtures/peer.ts", import.meta.url))

const groupOf = (pid: number): number => processes().find((row) => row.pid === pid)?.group ?? Number.NaN

interface Started {
  readonly host: Cli
  /** The process that ignores SIGHUP, SIGINT and SIGTERM. */
  readonly deaf: number
  /** The processes below the host. */
  readonly family: ReadonlyArray<number>
  /** Waits until the deaf process has received this signal. */
  readonly receives: (signal: NodeJS.Signals) => Effect.Effect<unknown>
}

/** A process that runs a program in this mode, whose journal is unique to it. */
const start = Effect.fnUntraced(function* (kind: string, mode: string) {
  const journal = yield* temporaryFile("journal", "")
  const script = join(dirname(journal), "program.sh")
  writeFileSync(script, `#!/bin/sh\nexec "${process.execPath}" "${peer}" ${mode} "${journal}"\n`)
  chmodSync(script, 0o755)
  const family = new Set<number>()
  const find = (): ReadonlyArray<number> => {
    for (const { command, pid } of processes()) {
      const words = command.join(" ")
      if (words.includes(dirname(journal)) && !words.includes(parent)) family.add(pid)
    }
    return [...family]
  }
  yield* Effect.addFinalizer(() => Effect.sync(() => find().forEach((pid) => kill(pid, "SIGKILL"))))
  const host = yield* node([parent, kind, script])
  const noted = (word: string) =>
    Effect.repeat(
      Effect.sync(() => linesOf(journal).find((line) => line.startsWith(word))),
      { until: (line) => line !== undefined, schedule: Schedule.spaced("10 millis") }
    )
  const seen = Effect.sync(() => {
    for (const pid of descendants(host.pid)) family.add(pid)
    return find()
  })
  /** No process of the program is left, nor one that was below the host. */
  const none = Effect.suspend(() => gone(find()))
  return { host, noted, none, seen }
})

type Step = (started: Started) => Effect.Effect<unknown, unknown, Scope.Scope>

const leavesNothing = (title: string, step: Step, { kind = "server", mode = "deaf" } = {}) =>
  it.live(title, () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { host, none, noted, seen } = yield* start(kind, mode)
        const deaf = Number((yield* noted("deaf"))?.split(" ")[1])
        const family = yield* seen
        assert.isTrue(family.includes(deaf) && alive(deaf))
        yield* step({ host, deaf, family, receives: noted })
        yield* none
      })
    )
  )

const kills: Step = ({ host }) => host.signal("SIGKILL")

const terminatesAndKills: Step = ({ host, receives }) =>
  Effect.gen(function* () {
    yield* host.signal("SIGTERM")
    yield* receives("SIGTERM")
    yield* host.signal("SIGKILL")
  })

const terminatesGroupAndKills: Step = ({ host, deaf, receives }) =>
  Effect.gen(function* () {
    kill(-groupOf(deaf), "SIGTERM")
    yield* receives("SIGTERM")
    yield* host.signal("SIGKILL")
  })

const ordinary = ["SIGHUP", "SIGINT", "SIGTERM"] as const

describe("MCP server that ignores signals", () => {
  leavesNothing("ends on a SIGKILL of its Computer", kills)

  leavesNothing("ends on a SIGKILL during the shutdown that SIGTERM started", terminatesAndKills)

  leavesNothing("ends on a SIGKILL right after SIGTERM", ({ host }) =>
    Effect.andThen(host.signal("SIGTERM"), host.signal("SIGKILL"))
  )

  leavesNothing("ends on the SIGHUP of the terminal", ({ host }) => host.signal("SIGHUP"))

  leavesNothing("ends on SIGINT twice, followed by SIGHUP", ({ host, receives }) =>
    Effect.gen(function* () {
      yield* host.signal("SIGINT")
      yield* receives("SIGTERM")
      yield* host.signal("SIGINT")
      yield* host.signal("SIGHUP")
    })
  )

  leavesNothing("ends with its Computer after a SIGTERM to its process group", terminatesGroupAndKills)

  leavesNothing("ends with its Computer after signals to every process below it", ({ host, family, receives }) =>
    Effect.gen(function* () {
      for (const signal of ordinary) for (const pid of family) kill(pid, signal)
      yield* Effect.forEach(ordinary, receives)
      yield* host.signal("SIGKILL")
    })
  )

  leavesNothing("ends with its Computer although it is stopped", ({ host, deaf }) => {
    kill(-groupOf(deaf), "SIGSTOP")
    return host.signal("SIGKILL")
  })

  leavesNothing("ends with its watcher", ({ host, family }) =>
    Effect.gen(function* () {
      const watchers = processes().flatMap(({ command: [program = ""], pid }) =>
        family.includes(pid) && program.endsWith("sh") ? [pid] : []
      )
      assert.strictEqual(watchers.length, 1)
      for (const pid of watchers) kill(pid, "SIGKILL")
      yield* gone(family)
      assert.isTrue(alive(host.pid))
    })
  )

  for (const size of [1, 2]) {
    it.live(`does not outlive a Computer that is killed when it starts process ${size}`, () =>
      Effect.scoped(
        Effect.gen(function* () {
          const { host, none, seen } = yield* start("server", "deaf")
          yield* familyOf(host.pid, size)
          yield* seen
          yield* host.signal("SIGKILL")
          yield* none
        })
      )
    )
  }
})

describe("child process of an MCP server", () => {
  const mode = "parentOfDeaf"
  leavesNothing("ends with the Computer when the server has ended before", terminatesAndKills, { mode })
  leavesNothing("ends with the Computer after a SIGTERM to its process group", terminatesGroupAndKills, { mode })
})

for (const [kind, name] of [
  ["input", "command of an input"],
  ["npm", "npm"]
] as const) {
  describe(`${name} that ignores signals`, () => {
    leavesNothing("ends on a SIGKILL of its host", kills, { kind })
    leavesNothing("ends on a SIGKILL during the shutdown that SIGTERM started", terminatesAndKills, { kind })
  })
}
