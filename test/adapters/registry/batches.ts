import { Duration, Effect, Fiber, Option, Schedule, type Scope } from "effect"
import type { RegistryChange } from "../../../src/application/ports/OfficeRegistry.ts"
import type { MembershipCommand, Capacity } from "../../../src/domain/office/decideMembership.ts"
import type { Membership } from "../../../src/domain/model/Membership.ts"
import { commandOf, type History, inWords, names, nodeOf, officeIds, sids } from "../../domain/office/histories.ts"
import { listedMembers, type ModelSessions, modelMembersOf } from "../../domain/office/referenceModel.ts"
import { type OpenNode, outcome, type TestNode } from "./cluster.ts"
import { explain, hasReceived, type Outcome } from "./linearization.ts"

/** A command, and the event loop ticks before it is issued. */
interface Issued {
  readonly command: MembershipCommand
  readonly turns: number
}

/** The registry that plays a history. */
export interface Fixture {
  readonly open: OpenNode
  /** The number of nodes. */
  readonly nodes: number
  /** Largest number of concurrent commands. More than five have too many orders to search. */
  readonly atOnce: number
  /** Longest delay until a node has received the acknowledged changes of others. */
  readonly timeout: Duration.Duration
  /** Remaining data of members in the shared store: none after all have disconnected. */
  readonly leftovers: Effect.Effect<ReadonlyArray<string>>
}

/** A registry this slow may report `unavailable`, which proves nothing. */
const slow = Duration.millis(450)

/** The steps of a history in batches. A session connects once, in the first of its steps. */
const batchesOf = ({ steps }: History, { atOnce, nodes }: Fixture): ReadonlyArray<ReadonlyArray<Issued>> => {
  const batches: Array<Array<Issued>> = []
  const connected = new Set<string>()
  let batch: Array<Issued> = []
  for (const step of steps) {
    if (batch.length === 0 || step.waits || batch.length === atOnce) {
      batch = []
      batches.push(batch)
    }
    const { sid } = step
    if (step.do === "connect") {
      if (connected.has(sid) || batch.some(({ command }) => command.sid === sid)) continue
      connected.add(sid)
    }
    if (step.do === "disconnect") connected.delete(sid)
    batch.push({ command: commandOf(step, nodes), turns: step.turns })
  }
  return batches.filter(({ length }) => length > 0)
}

/** A node with the changes that it received since the last check. */
interface Listening {
  readonly name: string
  /** The sessions of this node. */
  readonly own: ReadonlySet<string>
  readonly node: TestNode
  readonly received: Array<RegistryChange>
}

/** The session of a node that only checks whether the node has received all changes. */
const probeOf = (node: string) => `probe of ${node}`

const listening = Effect.fnUntraced(function* (
  { nodes, open }: Fixture,
  name: string
): Effect.fn.Return<Listening, never, Scope.Scope> {
  const node = yield* open(name)
  // Before it is connected, a node rejects at once, which the timing does not show.
  yield* Effect.sync(() => node.registry.state().available).pipe(
    Effect.repeat({ schedule: Schedule.spaced("5 millis"), until: (up) => up })
  )
  const received: Array<RegistryChange> = []
  yield* node.registry.subscribe((change) => {
    if (!("sid" in change) || change.sid !== probeOf(name)) received.push(change)
  })
  yield* node.connect(probeOf(name))
  return { name, own: new Set(sids.filter((sid) => nodeOf(sid, nodes) === name)), node, received }
})

/** Joins and leaves a separate office: a node receives changes in order, so it has then received all earlier ones. */
const probe = ({ name, node }: Listening): Effect.Effect<string> =>
  outcome(
    Effect.andThen(
      node.join(probeOf(name), "computer", "probe", probeOf(name)),
      node.leave(probeOf(name), probeOf(name))
    )
  )

const turn = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

/** Issues a batch: the commands of one session in order, without waiting for outcomes. */
const issue = (
  members: ReadonlyArray<Listening>,
  batch: ReadonlyArray<Issued>,
  capacity: Capacity
): Effect.Effect<ReadonlyArray<Outcome>> => {
  const answers = new Map<MembershipCommand, string>()
  const start = Effect.fnUntraced(function* ({ command, turns }: Issued) {
    for (let left = turns; left > 0; left--) yield* turn
    const at = members.find(({ name }) => name === nodeOf(command.sid, members.length))
    if (at === undefined) return yield* Effect.die(new Error(`no node holds ${command.sid}`))
    const answered = Effect.map(outcome(at.node.apply(command, capacity)), (prints) => {
      answers.set(command, prints)
    })
    return yield* Effect.forkChild(answered, { startImmediately: true })
  })
  const all = (own: ReadonlyArray<Issued>) =>
    Effect.flatMap(Effect.forEach(own, start), (fibers) => Effect.forEach(fibers, Fiber.join))
  return Effect.as(
    Effect.forEach([...Map.groupBy(batch, ({ command }) => command.sid).values()], all, {
      concurrency: "unbounded"
    }),
    batch
  ).pipe(
    Effect.map((issued) => issued.map(({ command }) => ({ command, prints: answers.get(command) ?? "no answer" })))
  )
}

const inPlace = ({ name, office, role }: Membership) => `as ${role} ${name} in ${JSON.stringify(office)}`

/** The state that a node shows: the memberships of its sessions, and the members of their offices. */
interface NodeView {
  readonly membershipOf: (sid: string) => Membership | undefined
  readonly members: (office: string) => ReadonlyArray<{ readonly sid: string; readonly node: string }>
  readonly computer: (office: string, name: string) => string | undefined
}

const viewOf = ({ node: { registry, session } }: Listening): NodeView => ({
  membershipOf: (sid) => Option.getOrUndefined(session(sid)?.membership ?? Option.none()),
  members: registry.members,
  computer: (office, name) => Option.getOrUndefined(registry.findComputer(office, name))?.sid
})

const viewIn = (people: ModelSessions, { own }: Listening): NodeView => ({
  membershipOf: (sid) => people.find((one) => one.sid === sid && own.has(sid))?.membership,
  members: (office) => listedMembers(people, office),
  computer: (office, name) =>
    modelMembersOf(people, office).find(({ membership }) => membership?.role === "computer" && membership.name === name)
      ?.sid
})

const listOf = <A>(all: ReadonlyArray<A>, inWord: (one: A) => string): string => all.map(inWord).join()

/** Formats a view, with only the offices of sessions of the node. */
const formatView = ({ computer, members, membershipOf }: NodeView): string => {
  const memberships = sids.map((sid) => [sid, membershipOf(sid)] as const)
  const offices = officeIds.filter((id) => memberships.some(([, membership]) => membership?.office === id))
  return [
    ...memberships.flatMap(([sid, membership]) =>
      membership === undefined ? [] : [`${sid} sits ${inPlace(membership)}`]
    ),
    ...offices.map((id) => `${id} holds ${listOf(members(id), ({ node, sid }) => `${sid} of ${node}`)}`),
    ...offices.map((id) => `${id} has ${listOf(names, (name) => `${name}: ${computer(id, name)}`)}`)
  ].join("; ")
}

const changeInWords = (change: RegistryChange): string => {
  if (change._tag === "NodeLost") return `gone ${change.node}`
  if (change._tag === "Evicted") return `evicted ${change.sid}`
  const { _tag, recipients, membership, sid } = change
  return `${_tag === "Entered" ? "+" : "-"}${sid} ${inPlace(membership)} → ${recipients.toSorted().join()}`
}

/** Differences between the expected results of `isComputerElsewhere` and those of a node. */
const wrongElsewhere = (people: ModelSessions, { node: { registry } }: Listening) =>
  Effect.map(
    Effect.forEach(
      officeIds.flatMap((office) => names.map((name) => ({ office, name }))),
      ({ name, office }) =>
        Effect.map(registry.isComputerElsewhere(office, name), (is) => {
          const should = people.some(
            ({ membership }) =>
              membership?.role === "computer" && membership.name === name && membership.office !== office
          )
          return is === should ? [] : [`a Computer ${name} outside of ${office}: ${is}`]
        }),
      { concurrency: "unbounded" }
    ),
    (found) => found.flat()
  )

/** Disconnects every session. */
const ending = (people: ModelSessions): ReadonlyArray<Issued> =>
  people.map(({ sid }) => ({ command: { _tag: "Disconnect", sid }, turns: 0 }))

/**
 * Plays a history on a registry, batch by batch, then disconnects every session. Fails with a description of the first
 * batch of which no order of commands explains the outcomes, the changes and the views of the nodes. Gives the number of
 * batches: it ends early when the registry is too slow.
 */
export const play = Effect.fnUntraced(function* (fixture: Fixture, history: History) {
  const members = yield* Effect.forEach(
    Array.from({ length: fixture.nodes }, (_, index) => `n${index}`),
    (name) => listening(fixture, name),
    { concurrency: "unbounded" }
  )
  const { capacity } = history

  const judge = (before: ModelSessions, outcomes: ReadonlyArray<Outcome>) => {
    const look = () =>
      explain(before, outcomes, capacity, (order) =>
        members.every(
          (one) =>
            formatView(viewOf(one)) === formatView(viewIn(order.after, one)) &&
            hasReceived(one.own, before, order, one.received)
        )
      )
    const complaint = Effect.suspend(() =>
      Effect.fail(
        [
          "No order explains this.",
          ...before.map(
            ({ membership, node, reconnectKey, role, sid }) =>
              `before: ${sid} of ${node}, ${role ?? "any role"}, reconnect key '${reconnectKey}', sits ${membership === undefined ? "nowhere" : inPlace(membership)}`
          ),
          ...outcomes.map(({ command, prints }) => `${inWords(command)}: ${prints}`),
          ...members.flatMap((one) => [
            `${one.name} heard: ${one.received.map(changeInWords).join(", ")}`,
            `${one.name} shows: ${formatView(viewOf(one))}`
          ])
        ].join("\n")
      )
    )
    const explained = Effect.raceAllFirst(members.map(({ node }) => node.until(() => look() !== undefined)))
    return Effect.suspend(() => {
      const order = look()
      if (order !== undefined) return Effect.succeed(order)
      return Effect.flatMap(Effect.timeoutOption(explained, fixture.timeout), () => {
        const later = look()
        return later === undefined ? complaint : Effect.succeed(later)
      })
    })
  }

  let people: ModelSessions = []
  let played = 0
  const batches = batchesOf(history, fixture)
  // Then every session disconnects. After that nothing happens, so any further change is a duplicate.
  for (let index = 0; index < batches.length + 2; index++) {
    const batch = batches[index] ?? ending(people)
    const [took, outcomes] = yield* Effect.timed(issue(members, batch, capacity))
    const [tookToo, probes] = yield* Effect.timed(Effect.forEach(members, probe, { concurrency: "unbounded" }))
    const isSlow = Duration.isGreaterThan(Duration.sum(took, tookToo), slow)
    const prints = [...outcomes.map((one) => one.prints), ...probes]
    if (isSlow && prints.includes("unavailable")) return played
    const order = yield* judge(people, outcomes)
    people = order.after
    for (const { received } of members) received.length = 0
    const requests = members[index % members.length]
    const wrong = requests === undefined ? [] : yield* wrongElsewhere(people, requests)
    if (wrong.length > 0) return yield* Effect.fail(wrong.join("\n"))
    if (probes.some((one) => one !== "ok")) return yield* Effect.fail(`probes: ${probes.join()}`)
    played++
  }
  for (const { name, node } of members) {
    const { offices, sessions } = node.registry.state()
    if (offices > 0 || sessions > 1)
      return yield* Effect.fail(`${name} ends with ${offices} offices, ${sessions} sessions`)
  }
  const left = yield* fixture.leftovers
  if (left.length > 0) return yield* Effect.fail(`left after every session has disconnected: ${left.join()}`)
  return played
})
