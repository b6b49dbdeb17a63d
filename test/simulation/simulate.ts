import { Cause, Clock, Duration, Effect, Exit, Fiber, Layer, Logger, Random, References, Scope } from "effect"
import { TestClock } from "effect/testing"
import { jsonBody } from "../../src/application/ports/Body.ts"
import { type Asked, type Counts, noCounts } from "./History.ts"
import { always, type Findings, nothingIsLeft, onceQuiet, onceQuietAsking } from "./invariants.ts"
import type { Action, Plan, Step, Who } from "./plan.ts"
import { lineOf, makeWorld, nameOf, officeName, type Sabotage, type World } from "./World.ts"

/** What a run has shown. */
export interface Outcome {
  readonly seed: number
  /** Rules that were broken, with what was found; empty when all is well. */
  readonly broken: ReadonlyArray<{ readonly rule: string; readonly findings: Findings }>
  /** What happened, line by line: the same for the same plan, byte for byte. */
  readonly trace: ReadonlyArray<string>
  readonly counts: Counts
}

/** How long the world gets to become quiet, in milliseconds: twice the longest call, or the slowest coming back. */
const quietTime = 120_000

/** How long what is asked may fail after the network, or a server, has failed, in milliseconds. */
const recoveryTime = 100_000

/** Messages that take longer, in milliseconds, are not what a member can be expected to come by. */
const fairDelay = 20

/** The same for everybody to go. */
const closingTime = 60_000

/** A clock that knows how many sleep by it. */
const counting = (clock: Clock.Clock) => {
  let sleeping = 0
  const own = Object.assign(Object.create(clock) as Clock.Clock, {
    sleep: (duration: Duration.Duration) =>
      Effect.acquireUseRelease(
        Effect.sync(() => void sleeping++),
        () => clock.sleep(duration),
        () => Effect.sync(() => void sleeping--)
      )
  })
  return { clock: own, sleeping: () => sleeping }
}

/** Keeps what the code under test logs as an error. */
const logging = (errors: Array<string>) =>
  Layer.merge(
    Logger.layer([
      Logger.make(({ cause, logLevel, message }) => {
        if (logLevel === "Error" || logLevel === "Fatal") {
          errors.push(`${JSON.stringify(message)} ${Cause.pretty(cause)}`)
        }
      })
    ]),
    Layer.succeed(References.MinimumLogLevel, "Error")
  )

const spell = ({ wait, ...action }: Step): string => `${JSON.stringify(action)} after ${wait} ms`

/** Does what a step says, and never waits for it. */
const perform = (world: World, action: Action, number: number): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { agents, computers, history, machines, net, note, now } = world
    const { counts } = history

    /** Whatever is under way at somebody is disturbed. */
    const disturb = (name: string) => {
      for (const one of history.asked.values()) {
        if (one.ends.length === 0 && (one.agent === name || one.computer === name)) one.calm = false
      }
    }
    const disturbAll = () => {
      for (const one of history.asked.values()) if (one.ends.length === 0) one.calm = false
    }
    const isCalm = (party: { readonly name: string; readonly doing: Fiber.Fiber<void> | undefined }) =>
      party.doing?.pollUnsafe() !== undefined

    /** Notes how something ends that an Agent asks. */
    const watch = (one: Asked, what: Effect.Effect<string, { readonly message: string }>) => {
      history.asked.set(one.id, one)
      const ended = (outcome: string) =>
        Effect.sync(() => {
          one.ends.push({ at: now(), outcome })
          if (outcome.startsWith("=")) counts.answered += 1
          else if (outcome === "cancelled") counts.cancelled += 1
          else counts.failed += 1
          note(`${one.id} of ${one.agent} ends: ${outcome}`)
        })
      return Effect.forkScoped(
        what.pipe(
          Effect.matchEffect({
            onSuccess: (outcome) => ended(`=${outcome}`),
            onFailure: ({ message }) => ended(`failed: ${message}`)
          }),
          Effect.onInterrupt(() => ended("cancelled"))
        )
      )
    }

    switch (action.do) {
      case "call":
      case "repeat":
      case "ask": {
        const agent = agents[action.agent]
        const computer = partnerOf(world, agent?.office, action.computer)
        if (agent?.process === undefined || agent.office === undefined || computer === undefined) return
        const { office } = agent
        const { service } = agent.process
        const calm =
          isCalm(agent) && isCalm(computer) && computer.office === office && computer.process !== undefined
        const base = {
          agent: agent.name,
          office,
          computer: computer.name,
          askedAt: now(),
          cancelledAt: undefined,
          calm: calm && world.isFair(agent.name) && world.isFair(computer.name)
        }
        if (action.do === "ask") {
          counts.questions += 1
          const asking = (): Effect.Effect<unknown, { readonly message: string }> => {
            switch (action.what) {
              case "tools":
                return service.getTools(computer.name)
              case "desktop":
                return service.getDesktop(computer.name)
              case "documents":
                return service.findDocuments(computer.name)
              case "config":
                return service.getConfig(computer.name)
              case "members":
                return service.members
            }
          }
          yield* watch(
            { ...base, ends: [], id: `ask-${number}`, atMost: 36_000, takes: undefined },
            Effect.as(asking(), action.what)
          )
          return
        }
        if (action.do === "repeat") {
          // What a peer does that sends again because it has not heard yet: each of them is a request of its own.
          for (const time of ["first", "second"]) {
            counts.calls += 1
            const id = `twice-${number}`
            const body = {
              agent: agent.name,
              req_id: `again-${number}`,
              computer: computer.name,
              tool_name: "work",
              params: { id, from: office, takes: action.takes },
              timeout: 30
            }
            yield* watch(
              { ...base, ends: [], id: `${id}-${time}`, atMost: 36_000, takes: undefined },
              Effect.as(
                service.member.request("client:tool_call", jsonBody(body), Duration.seconds(36)),
                "acknowledged"
              )
            )
          }
          return
        }
        counts.calls += 1
        const id = `call-${number}`
        const one: Asked = { ...base, ends: [], id, atMost: action.seconds * 1000, takes: action.takes }
        const fiber = yield* watch(
          one,
          service
            .callTool({
              computer: computer.name,
              tool: "work",
              params: { id, from: office, takes: action.takes },
              timeout: action.seconds
            })
            .pipe(
              Effect.map((result) => {
                const [first] = result.content as ReadonlyArray<{ readonly text?: unknown }>
                return result.isError === true ? `error ${String(first?.text)}` : String(first?.text)
              }),
              Effect.filterOrFail(
                (text) => !text.startsWith("error "),
                (text) => ({ message: text })
              )
            )
        )
        if (action.cancelAfter === undefined) return
        yield* Effect.forkScoped(
          Effect.andThen(
            Effect.sleep(action.cancelAfter),
            Effect.suspend(() => {
              if (one.ends.length > 0) return Effect.void
              one.cancelledAt = now()
              return Fiber.interrupt(fiber)
            })
          )
        )
        return
      }
      case "enter":
        disturb(nameOf(action.who))
        return yield* world.enter(action.who, officeName(action.office))
      case "leave":
        disturb(nameOf(action.who))
        return yield* world.leave(action.who)
      case "kill":
        counts.kills += 1
        disturb(nameOf(action.who))
        return yield* world.kill(action.who, action.silently)
      case "link": {
        const party = partyOf(world, action.who)
        if (party === undefined) return
        disturb(party.name)
        world.markUnfair(party.name, recoveryTime)
        if (yield* net.fault(lineOf(party), action.fault)) counts.linkFaults += 1
        return
      }
      case "slow": {
        const party = partyOf(world, action.who)
        if (party === undefined) return
        disturb(party.name)
        if (action.high > fairDelay) world.markUnfair(party.name, Number.POSITIVE_INFINITY)
        net.slow(lineOf(party), action)
        return
      }
      case "stopNode":
        // The witnesses sit there.
        if (action.node === 0 || !world.nodes.has(action.node)) return
        counts.nodeStops += 1
        disturbAll()
        for (const { name } of [...agents, ...computers]) world.markUnfair(name, recoveryTime)
        return yield* world.stopNode(action.node)
      case "startNode":
        return yield* world.startNode(action.node)
      case "tools":
      case "windows":
      case "configure":
      case "crash": {
        const machine = machines[action.computer]
        const computer = computers[action.computer]
        if (machine === undefined || computer === undefined) return
        counts.changes += 1
        if (action.do === "tools") {
          machine.tools += 1
          return yield* machine.main.setTools(world.toolsOf(action.computer))
        }
        if (action.do === "windows") {
          machine.windows += 1
          const windows = world.windowsOf(action.computer)
          yield* machine.main.setResources(windows)
          for (const { definition } of windows)
            yield* machine.main.notify({ _tag: "ResourceUpdated", uri: definition.uri })
          return
        }
        if (action.do === "crash") {
          disturb(computer.name)
          world.markUnfair(computer.name, recoveryTime)
          return yield* machine.main.crash("the program has ended")
        }
        machine.hasExtra = !machine.hasExtra
        const config = world.configOf(action.computer)
        if (computer.process !== undefined) {
          yield* Effect.forkScoped(computer.process.service.reconfigure({ config, variables: {} }))
        }
      }
    }
  })

/** One call in so many goes to anybody, who may well be in another office. */
const strangers = 12

/** The Computer that a number means to an Agent: mostly one of its own office. */
const partnerOf = ({ computers }: World, office: string | undefined, number: number) => {
  const mates = computers.filter((party) => party.office === office)
  return number % strangers === 0 || mates.length === 0
    ? computers[number % computers.length]
    : mates[number % mates.length]
}

const partyOf = (world: World, { index, kind }: Who) =>
  kind === "agent" ? world.agents[index] : world.computers[index]

/** Virtual time is set on by so much as long as a run is not over, in milliseconds. */
const stride = 600_000

/** Runs a plan to its end, on virtual time, and checks every rule. */
export const simulate = ({ cast, seed, steps }: Plan, sabotage: Sabotage = {}): Effect.Effect<Outcome> =>
  Effect.gen(function* () {
    const trace: Array<string> = []
    const errors: Array<string> = []
    const broken: Array<{ readonly rule: string; readonly findings: Findings }> = []
    const find = (rule: string, findings: Findings) => {
      if (findings.length === 0) return
      broken.push({ rule, findings })
      for (const finding of findings) trace.push(`        ${rule}: ${finding}`)
    }
    const timers = counting(yield* Clock.Clock)

    const lives = Effect.gen(function* () {
      const world = yield* makeWorld(seed, cast, sabotage, (line) => void trace.push(line), errors)
      const { counts } = world.history
      for (const [number, step] of steps.entries()) {
        yield* Effect.sleep(step.wait)
        world.note(`step ${number}: ${spell(step)}`)
        counts.steps += 1
        yield* perform(world, step, number)
        for (const rule of always) find(rule.name, rule(world))
        if (broken.length > 0) return counts
      }
      yield* world.net.heal
      for (let node = 0; node < cast.nodes; node++) yield* world.startNode(node)
      yield* Effect.sleep(quietTime)
      world.note("all is quiet")
      for (const rule of onceQuiet) find(rule.name, rule(world))
      for (const rule of onceQuietAsking) find(rule.name, yield* rule(world))
      yield* world.shut
      yield* Effect.sleep(closingTime)
      find(nothingIsLeft.name, nothingIsLeft(world))
      return counts
    })

    const scope = yield* Scope.make()
    // Only what begins with the ticking of the clock is waited for before it ticks again: so everything does.
    const running = yield* Effect.sleep(1).pipe(
      Effect.andThen(lives),
      Scope.provide(scope),
      Effect.provideService(Clock.Clock, timers.clock),
      Effect.provide(logging(errors)),
      Effect.forkChild
    )
    while (running.pollUnsafe() === undefined) yield* TestClock.adjust(stride)
    const counts = yield* Fiber.join(running)
    const closing = yield* Effect.forkChild(Effect.andThen(Effect.sleep(1), Scope.close(scope, Exit.void)))
    yield* TestClock.adjust(stride)
    if (closing.pollUnsafe() === undefined) find(nothingIsLeft.name, ["the world does not close"])
    else if (timers.sleeping() > 0) find(nothingIsLeft.name, [`${timers.sleeping()} timers left`])
    yield* Fiber.interrupt(closing)
    return { seed, broken, trace, counts }
  }).pipe(
    Effect.scoped,
    Effect.provide(TestClock.layer({ warningDelay: "1 hour" })),
    Random.withSeed(`simulation ${seed}`)
  )

/** Adds up what happened in many runs. */
export const sum = (all: ReadonlyArray<Counts>): Counts =>
  all.reduce((total, counts) => {
    for (const key of Object.keys(total) as ReadonlyArray<keyof Counts>) total[key] += counts[key]
    return total
  }, noCounts())
