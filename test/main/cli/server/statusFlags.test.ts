import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setImmediate } from "node:timers/promises"
import { describe } from "@effect/vitest"
import { Deferred, Effect, Exit } from "effect"
import { TestClock } from "effect/testing"
import { runServer, type ServerOptions } from "../../../../src/main/entrypoints/promise.ts"
import type { HealthCommandOptions, StatusCommandOptions } from "../../../../src/main/cli/server/flags.ts"
import { makeVictim } from "../../../adapters/http/victim.ts"
import { type FlagRow, type FlagRows, testFlags } from "../flagRows.ts"
import { a2cInProcess, type Outcome } from "../inProcess.ts"
import { folderOfTests } from "../../../folderOfTests.ts"

const pem = (name: string) => readFileSync(new URL(`../../../fixtures/tls/${name}.pem`, import.meta.url), "utf8")
const tls = { cert: pem("first.cert"), key: pem("first.key") }

const folder = folderOfTests()
const authorities = join(folder, "ca.pem")
writeFileSync(authorities, tls.cert)
const token = join(folder, "token")
writeFileSync(token, "t0ken")

const startServer = (options: Partial<ServerOptions>) =>
  Effect.acquireRelease(
    Effect.promise(() => runServer({ authenticate: "allowAll", log: () => undefined, ...options })),
    (server) => Effect.promise(() => server.close())
  )

/** A row of a flag: an outcome of the command at a Server. */
const requests = (
  command: string,
  args: ReadonlyArray<string>,
  select: (outcome: Outcome) => unknown,
  options: Partial<ServerOptions> = {}
): FlagRow => [
  args,
  [false, true],
  Effect.fnUntraced(function* (given) {
    const { url } = yield* startServer(options)
    return select(yield* a2cInProcess("server", command, url, ...given))
  })
]

/** A row of the URL, without which the command asks the default one. */
const targetRow = (command: string, ...flag: ReadonlyArray<string>): FlagRow => [
  [...flag, "http://127.0.0.1:1"],
  [false, true],
  (given) =>
    Effect.map(a2cInProcess("server", command, ...given), ({ failure }) =>
      String(failure).includes("http://127.0.0.1:1 ")
    )
]

const isFine = ({ failure }: Outcome): boolean => failure === undefined

const healthRows: FlagRows<HealthCommandOptions> = {
  url: targetRow("health"),
  server: targetRow("health", "--server"),
  tlsCa: requests("health", ["--tls-ca", authorities], isFine, { tls })
}

const statusRows: FlagRows<StatusCommandOptions> = {
  url: targetRow("status"),
  server: targetRow("status", "--server"),
  tokenFile: [
    ["--token-file", token],
    [undefined, "Bearer t0ken"],
    Effect.fnUntraced(function* (given) {
      let header: string | undefined
      const { url } = yield* makeVictim((request, response) => {
        header = request.headers.authorization
        response.writeHead(404).end()
      })
      yield* a2cInProcess("server", "status", url, ...given)
      return header
    })
  ],
  tlsCa: requests("status", ["--tls-ca", authorities], isFine, { tls }),
  listOffices: requests("status", ["--offices", "--json"], ({ stdout }) => stdout.includes("officeList")),
  json: requests("status", ["--json"], ({ stdout }) => stdout.startsWith("{")),
  watch: [
    ["--watch"],
    ["ended", "asked again"],
    Effect.fnUntraced(function* (given) {
      const second = yield* Deferred.make<void>()
      let requests = 0
      const { url } = yield* makeVictim((_, response) => {
        response.writeHead(404).end()
        requests += 1
        if (requests > 1) Deferred.doneUnsafe(second, Exit.void)
      })
      const command = a2cInProcess("server", "status", url, ...given)
      const waits = Effect.forever(
        Effect.andThen(
          TestClock.adjust("2 seconds"),
          Effect.promise(() => setImmediate())
        )
      )
      return yield* Effect.raceFirst(
        Effect.as(command, "ended"),
        Effect.raceFirst(Effect.as(Deferred.await(second), "asked again"), waits)
      )
    }, Effect.provide(TestClock.layer()))
  ]
}

describe("a flag of a2c server health", () => {
  testFlags(healthRows)
})
describe("a flag of a2c server status", () => {
  testFlags(statusRows)
})
