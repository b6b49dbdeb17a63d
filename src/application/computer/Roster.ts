import { Effect, Option, type Scope, Semaphore, Stream, SubscriptionRef } from "effect"
import type { Part } from "../../domain/office/notice.ts"
import { makeAnnouncer } from "./Announcer.ts"
import { ComputerSettings } from "./ComputerSettings.ts"
import { type Offer, offerOf, type ServerStates } from "./Offer.ts"

/** Where every MCP server of a Computer stands, and what they offer together. */
export interface Roster {
  readonly offer: () => Offer
  /** The states now, and after every change. */
  readonly changes: Stream.Stream<ServerStates>
  /** Changes the states, and announces whatever the office now sees differently. */
  readonly change: (change: (states: ServerStates) => ServerStates) => Effect.Effect<void>
  /** Announces a part that has changed in a way the states do not show. */
  readonly touch: (part: Part) => Effect.Effect<void>
  /** Waits until this holds, and has been announced. */
  readonly until: (holds: (states: ServerStates) => boolean) => Effect.Effect<void>
}

const tellHidden = (before: Offer, after: Offer): Effect.Effect<void> => {
  if (before.catalogue === after.catalogue) return Effect.void
  return Effect.forEach(
    after.catalogue.hidden.filter(
      ({ name, server }) => !before.catalogue.hidden.some((one) => one.server === server && one.name === name)
    ),
    ({ name, original, reason, server }) => {
      const facts = { server, tool: original, name, reason }
      return reason === "forbidden"
        ? Effect.logDebug("tool hidden", facts)
        : Effect.logWarning("tool hidden", facts)
    },
    { discard: true }
  )
}

/** So many hosts that have come to clash are told at once: who lists thousands has made one mistake. */
const mostClashes = 10

/** Warns of hosts that several servers have, when they come to have them (spec §10.3). */
const tellClashes = (before: Offer, after: Offer): Effect.Effect<void> => {
  if (before.clashes === after.clashes) return Effect.void
  const known = new Set(before.clashes.map((clash) => JSON.stringify(clash)))
  return Effect.forEach(
    after.clashes.filter((clash) => !known.has(JSON.stringify(clash))).slice(0, mostClashes),
    ({ host, servers }) =>
      Effect.logWarning("several servers have the same host; its documents are those of the first one", {
        host,
        servers
      }),
    { discard: true }
  )
}

/** A roster of servers in these states; `tell` hears which part of the Computer has changed, exactly when it did. */
export const makeRoster = Effect.fnUntraced(function* (
  first: ServerStates,
  tell: (part: Part) => Effect.Effect<void>
): Effect.fn.Return<Roster, never, Scope.Scope> {
  const { changePause, showUnwatched } = yield* ComputerSettings
  const firstOffer = offerOf(first, showUnwatched)
  const offers = yield* SubscriptionRef.make(firstOffer)
  const { observe, touch } = yield* makeAnnouncer(tell, firstOffer.looks, changePause)
  const changes = Stream.map(SubscriptionRef.changes(offers), ({ states }) => states)
  /** Changes are announced in the order in which they happen. */
  const turn = yield* Semaphore.make(1)

  return {
    offer: () => SubscriptionRef.getUnsafe(offers),
    changes,
    change: Effect.fnUntraced(function* (change) {
      type Step = readonly [before: Offer, after: Offer]
      const [before, after] = yield* SubscriptionRef.modifySome<Offer, Step>(offers, (current) => {
        const states = change(current.states)
        if (states === current.states) return [[current, current], Option.none()]
        const next = offerOf(states, showUnwatched, current)
        return [[current, next], Option.some(next)]
      })
      yield* tellHidden(before, after)
      yield* tellClashes(before, after)
      yield* observe(after.looks)
    }, Semaphore.withPermit(turn)),
    touch,
    until: (holds) =>
      changes.pipe(Stream.filter(holds), Stream.runHead, Effect.andThen(turn.withPermit(Effect.void)))
  }
})
