import { setTimeout as wait } from "node:timers/promises"
import { Effect, Ref, type Scope } from "effect"
import { maxOpenFiles } from "../../openFiles.ts"
import { type A2cCommand, makeCommand } from "../command.ts"
import { a2c } from "../kinds.ts"
import { defaultDialect } from "../peers/Dialect.ts"
import { lightPeersOf } from "../peers/light.ts"
import { freePort } from "../storm/freePort.ts"
import { joinMembers, makeOffices, namesOf } from "../storm/members.ts"
import { makeReasonLog } from "../storm/reasonLog.ts"
import { Rejoins } from "../storm/Rejoins.ts"
import { StormCalls } from "../storm/StormCalls.ts"
import { type Case, type Row, type Setting, summaryOf, valueAtMost } from "./Case.ts"

/** Offices with one Agent each, and the Computers of each. */
const sizes = { usual: { offices: 100, computers: 20 }, quick: { offices: 10, computers: 10 } }

/** Ends of the Server. The members stay the same. */
const maxRounds = 3

/** Time of calls before each end. */
const calmTime = "3 seconds"

/** Time until all members must have joined again. */
const rejoinTimeout = "60 seconds"

/** Open files of a member during the upgrade of its connection, and those of a process beside its members. */
const openFiles = { perMember: 2, others: 256 }

/** A Server that can be killed and started again at the same port. */
const makeKillableServer = Effect.fnUntraced(function* ({ startServer }: A2cCommand, port: number) {
  const current = yield* Ref.make(yield* startServer(port))
  return {
    address: (yield* Ref.get(current)).address,
    /** Resolves when the new one listens. */
    restart: Effect.gen(function* () {
      yield* (yield* Ref.get(current)).end("SIGKILL")
      yield* Ref.set(current, yield* startServer(port))
    })
  }
})

const measure = Effect.fnUntraced(function* ({ note, quick, rounds }: Setting, lastReason: () => string) {
  const { computers, offices: count } = quick ? sizes.quick : sizes.usual
  const offices = makeOffices(count, computers)
  const names = namesOf(offices)
  const rejoins = new Rejoins()
  const calls = new StormCalls()
  const { address, restart } = yield* makeKillableServer(yield* makeCommand, yield* freePort)
  note(`${names.length} members join`)
  const agents = yield* joinMembers(`http://${address}`, offices, rejoins, calls.onExecution)

  /** Kills the Server during calls, and gives the seconds until the last join and the share of a processor used here. */
  const kill: Effect.Effect<{ readonly seconds: number; readonly busy: number }, never, Scope.Scope> = Effect.gen(
    function* () {
      yield* Effect.sleep(calmTime)
      const used = process.cpuUsage()
      const killedAt = performance.now()
      const completed = rejoins.complete(names)
      yield* restart
      const lastAt = yield* Effect.promise(() => completed).pipe(
        Effect.timeoutOrElse({
          duration: rejoinTimeout,
          orElse: () => {
            const { length } = rejoins.missing
            const [first] = rejoins.missing
            const reason = `${length} members have not joined again, for example ${first}; last failure: ${lastReason()}`
            return Effect.die(new Error(reason))
          }
        })
      )
      const { system, user } = process.cpuUsage(used)
      const seconds = (lastAt - killedAt) / 1000
      return { seconds, busy: (system + user) / (lastAt - killedAt) / 10 }
    }
  )
  const all = Math.min(maxRounds, quick ? 1 : rounds)
  const kills = yield* Effect.forEach(Array.from({ length: all }), (_, round) => {
    note(`round ${round + 1} of ${all}`)
    return calls.during(agents, kill)
  })
  return { kills, tally: calls.tally() }
}, Effect.scoped)

/** Milliseconds between the attempts of a bare Computer to connect. */
const bareRetry = 100

/** Computers that only connect and join, again after each loss of their connection until `stop`. */
class BareComputers {
  readonly #count: number
  readonly #joinOnce: (number: number, onLost: () => void) => Promise<unknown>
  #joined = 0
  #isStopped = false
  #onAll = () => {}

  constructor(address: string, offices: number, computers: number) {
    const { connect } = lightPeersOf(defaultDialect)
    const place = { agents: address, computers: address, children: [], stop: async () => undefined }
    this.#count = offices * computers
    this.#joinOnce = async (number, onLost) => {
      const newcomer = await connect?.(place, onLost)
      await newcomer?.join(`office-${number % offices}`, `computer-${number}`, () => undefined)
    }
    for (let number = 0; number < this.#count; number++) void this.#stay(number)
  }

  /** Resolves when all have joined, counted from now. */
  allJoined(): Promise<void> {
    this.#joined = 0
    return new Promise((resolve) => {
      this.#onAll = resolve
    })
  }

  /** Lets connections that are lost from now on be the last. */
  stop(): void {
    this.#isStopped = true
  }

  async #stay(number: number): Promise<void> {
    while (!this.#isStopped) {
      const lost = Promise.withResolvers<void>()
      const isJoined = await this.#joinOnce(number, lost.resolve).then(
        () => true,
        () => wait(bareRetry, false)
      )
      if (!isJoined) continue
      this.#joined += 1
      if (this.#joined === this.#count) this.#onAll()
      await lost.promise
    }
  }
}

/** Kills a Server with bare Computers, and gives the seconds until the last join and the share of a processor used here. */
const measureBare = Effect.fnUntraced(function* ({ note, quick, rounds }: Setting) {
  const { computers, offices } = quick ? sizes.quick : sizes.usual
  const { address, restart } = yield* makeKillableServer(yield* makeCommand, yield* freePort)
  const members = yield* Effect.acquireRelease(
    Effect.sync(() => new BareComputers(address, offices, computers)),
    (started) => Effect.sync(() => started.stop())
  )
  yield* Effect.promise(() => members.allJoined())
  return yield* Effect.forEach(Array.from({ length: Math.min(maxRounds, quick ? 1 : rounds) }), (_, round) =>
    Effect.gen(function* () {
      note(`bare round ${round + 1}`)
      yield* Effect.sleep(calmTime)
      const used = process.cpuUsage()
      const killedAt = performance.now()
      const joined = members.allJoined()
      yield* restart
      yield* Effect.timeout(
        Effect.promise(() => joined),
        rejoinTimeout
      ).pipe(Effect.orDie)
      const millis = performance.now() - killedAt
      const { system, user } = process.cpuUsage(used)
      return { seconds: millis / 1000, busy: (system + user) / millis / 10 }
    })
  )
}, Effect.scoped)

/** Time until members have joined again after their Server was killed, and the fate of their calls. */
export const stormCase: Case = {
  name: "storm",
  about: "2000 Computers and 100 Agents with calls in flight join again after their Server was killed",
  long: true,
  run: async (setting) => {
    const { computers, offices } = setting.quick ? sizes.quick : sizes.usual
    const needed = offices * (computers + 1) * openFiles.perMember + openFiles.others
    if (maxOpenFiles() < needed) {
      process.stderr.write(`storm: skipped, because it needs ${needed} open files: raise "ulimit -n"\n`)
      return []
    }
    const { last, layer } = makeReasonLog()
    const { kills, tally } = await Effect.runPromise(Effect.provide(measure(setting, last), layer))
    const { answered, broken, executedTwice, failed, lost, misplaced, wrong } = tally
    const errors = Object.values(failed).reduce((sum, number) => sum + number, broken.length)
    const row = (measured: string, unit: string, values: ReadonlyArray<number>, bound?: number): Row => ({
      case: "storm",
      measure: measured,
      unit,
      summary: summaryOf(a2c.name, values),
      ...(bound !== undefined && { target: valueAtMost(bound) })
    })
    const bare = await Effect.runPromise(measureBare(setting))
    return [
      row(
        "until the last bare Computer has joined",
        "s",
        bare.map(({ seconds }) => seconds),
        3
      ),
      row(
        "load busy until then",
        "%",
        bare.map(({ busy }) => busy)
      ),
      row(
        "until the last member has joined",
        "s",
        kills.map(({ seconds }) => seconds)
      ),
      row(
        "load busy until then",
        "%",
        kills.map(({ busy }) => busy)
      ),
      row("calls answered", "calls", [answered]),
      row("calls with an error", "calls", [errors]),
      row("lost or duplicated calls", "calls", [lost.length + executedTwice.length], 0),
      row("wrong answers", "calls", [wrong.length + misplaced.length], 0)
    ]
  }
}
