import { Duration, Effect, Exit, Fiber, HashMap, Option, Result } from "effect"
import type { MemoryCluster } from "../../src/adapters/memory/MemoryCluster.ts"
import { jsonBody } from "../../src/application/ports/Body.ts"
import {
  type Reply,
  type ReplyExit,
  type Link,
  LinkClosed,
  type MessageHandler,
  type TransportServer
} from "../../src/application/ports/Transport.ts"
import { isJsonObject } from "../../src/domain/json.ts"
import { type MembershipCommand } from "../../src/domain/office/decide.ts"
import { evolve } from "../../src/domain/office/evolve.ts"
import { type MembershipError } from "../../src/domain/model/Membership.ts"
import type { Sabotage } from "./World.ts"

type Accept = Parameters<TransportServer["Service"]["serve"]>[0]

/** Changes the Server's ends of all links, and what they receive. */
const atLinks = (
  change: (link: Link) => Link,
  hear: (receive: MessageHandler, link: Link) => MessageHandler = (receive) => receive
): Sabotage => ({
  transport: ({ serve }) => ({
    serve: (accept) => {
      const changed: Accept = (link, handshake) =>
        Effect.map(accept(change(link), handshake), (receive) => hear(receive, link))
      return serve(changed)
    }
  })
})

/** True for each so-manieth message of a name. */
const each = (count: number, name: (event: string) => boolean) => {
  let seen = 0
  return (event: string) => name(event) && ++seen % count === 0
}

const is = (wanted: string) => (event: string) => event === wanted

/** Messages of a name do not arrive, one in so many. */
const losing = (wanted: string, count: number): Sabotage => {
  const hit = each(count, is(wanted))
  return atLinks((link) => ({
    ...link,
    notify: (event, body) => (hit(event) ? Effect.void : link.notify(event, body))
  }))
}

/** Messages of a name arrive twice, one in so many. */
const doubling = (wanted: string, count: number): Sabotage => {
  const hit = each(count, is(wanted))
  return atLinks((link) => ({
    ...link,
    notify: (event, body) =>
      hit(event)
        ? Effect.andThen(link.notify(event, body), link.notify(event, body))
        : link.notify(event, body)
  }))
}

/** Answers of Computers to requests of a name change on their way, one in so many. */
const changingAnswers = (
  wanted: string,
  count: number,
  change: (asked: ReplyExit, end: (asked: ReplyExit) => void) => void
) => {
  const hit = each(count, is(wanted))
  return atLinks((link) => ({
    ...link,
    startRequest: (event, body, deadline, end) =>
      link.startRequest(event, body, deadline, hit(event) ? (asked) => change(asked, end) : end)
  }))
}

/** Two answers go to each other's asker. */
const swapping = (): Sabotage => {
  let held: { readonly asked: ReplyExit; readonly end: (asked: ReplyExit) => void } | undefined
  return changingAnswers("client:tool_call", 1, (asked, end) => {
    if (held === undefined) {
      held = { asked, end }
      return
    }
    const other = held
    held = undefined
    other.end(asked)
    end(other.asked)
  })
}

/** What tells of an office goes to whoever connected last, too. */
const leaking = (): Sabotage => {
  let latest: Link | undefined
  const hit = each(5, is("notify:update_tool_list"))
  return atLinks((link) => {
    const before = latest
    latest = link
    return {
      ...link,
      notify: (event, body) =>
        hit(event) && before !== undefined
          ? Effect.andThen(Effect.ignore(before.notify(event, body)), link.notify(event, body))
          : link.notify(event, body)
    }
  })
}

/** Requests for the list of an office are answered with somebody who is not there. */
const inventing = (): Sabotage =>
  atLinks(
    (link) => link,
    (receive) => (event, body) =>
      Effect.map(receive(event, body), (answer): Reply => {
        const [first] = answer
        const value = first === undefined ? undefined : Result.getOrUndefined(first.value())
        if (event !== "server:list_room" || !isJsonObject(value) || !Array.isArray(value["sessions"])) {
          return answer
        }
        const [one] = value["sessions"] as ReadonlyArray<object>
        return [jsonBody({ ...value, sessions: [...value["sessions"], { ...one, name: "nobody" }] })]
      })
  )

/** Whoever joins sits, whatever the rules say. */
const seatAnyway = (cluster: MemoryCluster, command: MembershipCommand): void => {
  if (command._tag !== "Join") return
  const { name, office, role, sid } = command
  cluster.offices.state = evolve(cluster.offices.state, {
    _tag: "Entered",
    sid,
    membership: { name, office, role }
  })
}

/** Who is refused for a reason sits all the same. */
const seatingAnyway = (wanted: MembershipError["reason"]): Sabotage => ({
  registry: (registry, cluster) => ({
    ...registry,
    apply: (command, capacity) =>
      registry.apply(command, capacity).pipe(
        Effect.catchIf(
          ({ reason }) => reason === wanted && command._tag === "Join",
          () => Effect.sync(() => seatAnyway(cluster, command))
        )
      )
  })
})

/** A Computer that is not in an office is looked for in all of them. */
const lookingEverywhere = (): Sabotage => ({
  registry: (registry, cluster) => ({
    ...registry,
    findComputer: (office, name) =>
      Option.orElse(registry.findComputer(office, name), () =>
        Option.fromUndefinedOr(
          [...HashMap.values(cluster.offices.state.offices)]
            .flatMap(({ computers }) => [...HashMap.values(computers)])
            .find((member) => member.membership.name === name)
        )
      )
  })
})

/** What a member asks may take twice the time. */
const waitingTooLong = (): Sabotage => ({
  client: ({ connect }) => ({
    connect: (options) =>
      Effect.map(connect(options), (link) => ({
        ...link,
        request: (event, body, timeout) => link.request(event, body, Duration.times(timeout, 2))
      }))
  })
})

/** A fault of the kind that a change to the code could bring. */
export interface Fault {
  /** The name of the rule that has to notice it. */
  readonly by: string
  /** Each has a state of its own. */
  readonly plant: () => Sabotage
}

const callTwice = (): Sabotage => {
  const hit = each(7, is("client:tool_call"))
  return atLinks((link) => ({
    ...link,
    startRequest: (event, body, deadline, end) => {
      const value = Result.getOrUndefined(body.value())
      if (hit(event) && isJsonObject(value)) {
        // Under its own id the Computer would know it again.
        const again = jsonBody({ ...value, req_id: `${String(value["req_id"])} again` })
        link.startRequest(event, again, deadline, () => undefined)
      }
      return link.startRequest(event, body, deadline, end)
    }
  }))
}

/** What happens when something is heard, one time in so many, is that nothing is ready for it. */
const throwingAt = (wanted: string, count: number): Sabotage => {
  const hit = each(count, is(wanted))
  return atLinks(
    (link) => link,
    (receive) => (event, body) =>
      hit(event) ? Effect.die(new Error("a planted defect")) : receive(event, body)
  )
}

/** Connections end, and one in so many is not told to the registry. */
const keepingSeats = (): Sabotage => {
  const hit = each(4, is("Disconnect"))
  return {
    registry: (registry) => ({
      ...registry,
      apply: (command, capacity) => (hit(command._tag) ? Effect.void : registry.apply(command, capacity))
    })
  }
}

/** All of them, by what they do. */
export const faults: { readonly [what: string]: Fault } = {
  "an answer is lost": {
    by: "calmCallsSucceed",
    plant: () => changingAnswers("client:tool_call", 7, () => undefined)
  },
  "an answer about tools is taken for a lost connection": {
    by: "calmQuestionsAreAnswered",
    plant: () =>
      changingAnswers("client:get_tools", 2, (_, end) =>
        end(Exit.fail(new LinkClosed({ reason: "planted" })))
      )
  },
  "an answer goes to somebody else": { by: "resultsReachTheirAsker", plant: swapping },
  "members wait too long for answers": { by: "everyRequestEndsOnce", plant: waitingTooLong },
  "a call is sent twice, as two": { by: "nothingRunsTwice", plant: callTwice },
  "a call goes to another office": { by: "callsStayInTheirOffice", plant: lookingEverywhere },
  "a cancel is lost": { by: "cancelledCallsStop", plant: () => losing("notify:tool_call_cancel", 1) },
  "a join is not told": { by: "everyMoveIsToldOnce", plant: () => losing("notify:enter_office", 5) },
  "a join is told twice": { by: "everyMoveIsToldOnce", plant: () => doubling("notify:enter_office", 5) },
  "a leave is not told": { by: "everyMoveIsToldOnce", plant: () => losing("notify:leave_office", 5) },
  "a leave is told twice": { by: "everyMoveIsToldOnce", plant: () => doubling("notify:leave_office", 5) },
  "a change of tools is not told": { by: "viewsAreTrue", plant: () => losing("notify:update_tool_list", 2) },
  "a change of windows is not told": { by: "viewsAreTrue", plant: () => losing("notify:update_desktop", 2) },
  "a notice crosses offices": { by: "nothingCrossesOffices", plant: leaking },
  "a list invents a member": { by: "listsAreTrue", plant: inventing },
  "a tool does not stop": {
    by: "cancelledCallsStop",
    plant: () => ({ tool: (work) => Effect.uninterruptible(work) })
  },
  "a tool runs on when nobody waits any more": {
    by: "nothingRunsOn",
    plant: () => ({ tool: (work) => Effect.flatMap(Effect.forkDetach(work), Fiber.join) })
  },
  "an office takes a second Agent": { by: "oneAgentPerOffice", plant: () => seatingAnyway("agent_exists") },
  "an office takes a name twice": { by: "namesAreUnique", plant: () => seatingAnyway("name_taken") },
  "a connection that has ended keeps its seat": { by: "membershipConverges", plant: keepingSeats },
  "a connection that has ended is never forgotten": { by: "nothingIsLeft", plant: keepingSeats },
  "a handler throws": { by: "nothingFailsInside", plant: () => throwingAt("server:update_desktop", 3) }
}
