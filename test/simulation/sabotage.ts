import { Effect, Result } from "effect"
import type { MemoryCluster } from "../../src/adapters/memory/MemoryCluster.ts"
import { jsonBody } from "../../src/application/ports/Body.ts"
import type { Answer, Asked, Link, Receive, TransportServer } from "../../src/application/ports/Transport.ts"
import { isJsonObject } from "../../src/domain/json.ts"
import { type Command, evolve } from "../../src/domain/office/membership.ts"
import type { Sabotage } from "./World.ts"

type Accept = Parameters<TransportServer["Service"]["serve"]>[0]

/** Changes the Server's ends of all links, and what they receive. */
const atLinks = (
  change: (link: Link) => Link,
  hear: (receive: Receive, link: Link) => Receive = (receive) => receive
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
    tell: (event, body) => (hit(event) ? Effect.void : link.tell(event, body))
  }))
}

/** Messages of a name arrive twice, one in so many. */
const doubling = (wanted: string, count: number): Sabotage => {
  const hit = each(count, is(wanted))
  return atLinks((link) => ({
    ...link,
    tell: (event, body) =>
      hit(event) ? Effect.andThen(link.tell(event, body), link.tell(event, body)) : link.tell(event, body)
  }))
}

/** Answers of Computers change on their way, one in so many. */
const changingAnswers = (count: number, change: (asked: Asked, end: (asked: Asked) => void) => void) => {
  const hit = each(count, is("client:tool_call"))
  return atLinks((link) => ({
    ...link,
    request: (event, body, deadline, end) =>
      link.request(event, body, deadline, hit(event) ? (asked) => change(asked, end) : end)
  }))
}

/** Two answers go to each other's asker. */
const swapping = (): Sabotage => {
  let held: { readonly asked: Asked; readonly end: (asked: Asked) => void } | undefined
  return changingAnswers(1, (asked, end) => {
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
      tell: (event, body) =>
        hit(event) && before !== undefined
          ? Effect.andThen(Effect.ignore(before.tell(event, body)), link.tell(event, body))
          : link.tell(event, body)
    }
  })
}

/** Requests for the list of an office are answered with somebody who is not there. */
const inventing = (): Sabotage =>
  atLinks(
    (link) => link,
    (receive) => (event, body) =>
      Effect.map(receive(event, body), (answer): Answer => {
        const [first] = answer
        const value = first === undefined ? undefined : Result.getOrUndefined(first.whole())
        if (event !== "server:list_room" || !isJsonObject(value) || !Array.isArray(value["sessions"])) {
          return answer
        }
        const [one] = value["sessions"] as ReadonlyArray<object>
        return [jsonBody({ ...value, sessions: [...value["sessions"], { ...one, name: "nobody" }] })]
      })
  )

/** Whoever joins sits, whatever the rules say. */
const seatAnyway = (cluster: MemoryCluster, command: Command): void => {
  if (command._tag !== "Join") return
  const { name, office, role, sid } = command
  cluster.offices.state = evolve(cluster.offices.state, {
    _tag: "Entered",
    sid,
    seat: { name, office, role }
  })
}

/** Faults of the kind that a change to the code could bring, by what they do. Each has a state of its own. */
export const faults: { readonly [what: string]: () => Sabotage } = {
  "an answer is lost": () => changingAnswers(7, () => undefined),
  "an answer goes to somebody else": swapping,
  // Under its own id the Computer would know it again.
  "a call is sent twice, as two": () => {
    const hit = each(7, is("client:tool_call"))
    return atLinks((link) => ({
      ...link,
      request: (event, body, deadline, end) => {
        const value = Result.getOrUndefined(body.whole())
        if (hit(event) && isJsonObject(value)) {
          const again = jsonBody({ ...value, req_id: `${String(value["req_id"])} again` })
          link.request(event, again, deadline, () => undefined)
        }
        return link.request(event, body, deadline, end)
      }
    }))
  },
  "a cancel is lost": () => losing("notify:tool_call_cancel", 1),
  "a join is not told": () => losing("notify:enter_office", 5),
  "a join is told twice": () => doubling("notify:enter_office", 5),
  "a leave is not told": () => losing("notify:leave_office", 5),
  "a leave is told twice": () => doubling("notify:leave_office", 5),
  "a change of tools is not told": () => losing("notify:update_tool_list", 2),
  "a change of windows is not told": () => losing("notify:update_desktop", 2),
  "a notice crosses offices": leaking,
  "a list invents a member": inventing,
  "a tool does not stop": () => ({ tool: (work) => Effect.uninterruptible(work) }),
  "a tool never ends": () => ({ tool: (work) => Effect.andThen(work, Effect.never) }),
  "an office takes a second Agent": () => ({
    registry: (registry, cluster) => ({
      ...registry,
      apply: (command, capacity) =>
        registry.apply(command, capacity).pipe(
          Effect.catchIf(
            ({ why }) => why === "has an agent",
            () => Effect.sync(() => seatAnyway(cluster, command))
          )
        )
    })
  }),
  "a connection that has ended keeps its seat": () => {
    const hit = each(4, is("Disconnect"))
    return {
      registry: (registry) => ({
        ...registry,
        apply: (command, capacity) => (hit(command._tag) ? Effect.void : registry.apply(command, capacity))
      })
    }
  }
}
