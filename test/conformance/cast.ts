import { assert } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import type { Peer, Refused, World } from "./World.ts"

/** Values that are no request, whatever the event (the suite's `mal(x)`); `[]` at the end stands for absent. */
export const malformed: ReadonlyArray<ReadonlyArray<unknown>> = [[null], ["str"], [42], [[]], []]

/** Connects a member with the role of its kind. */
export const agent = (world: World, version?: string) =>
  world.connect({ auth: { role: "agent" }, ...(version !== undefined && { version }) })
export const computer = (world: World) => world.connect({ auth: { role: "computer" } })

/** Asks to join; the values of the acknowledgement. */
export const join = (peer: Peer, role: string, name: string, office: string) =>
  peer.ask("server:join_office", { role, name, office_id: office })

const seated = Effect.fnUntraced(function* (
  connecting: Effect.Effect<Peer, Refused, Scope.Scope>,
  role: "agent" | "computer",
  name: string,
  office: string
) {
  const peer = yield* connecting
  assert.deepStrictEqual(yield* join(peer, role, name, office), [true, null])
  return peer
})

/** An Agent that sits in an office. */
export const agentIn = (world: World, office: string, name = "agent-1") =>
  seated(agent(world), "agent", name, office)

/** A Computer that sits in an office. */
export const computerIn = (world: World, office: string, name = "pc-1") =>
  seated(computer(world), "computer", name, office)

/** Asks something harmless: everything sent before it has then been handled, everything due has then arrived. */
const settle = (peer: Peer) => peer.ask("server:leave_office", { office_id: "nowhere" })

/** Waits until whatever `from` sent so far has been handled, and all that follows from it has arrived at `at`. */
export const settled = (from: ReadonlyArray<Peer>, at: ReadonlyArray<Peer> = []) =>
  Effect.forEach([...from, ...at], settle, { discard: true })

/** What a peer heard of one event, in order. */
export const bodiesOf = (peer: Peer, event: string): ReadonlyArray<unknown> =>
  peer
    .heard()
    .filter((message) => message.event === event)
    .map(({ body }) => body)

/** How many messages a peer has heard; later ones are news. */
export const newsSince = (peer: Peer, count: number) => peer.heard().slice(count)

/** A flat error payload with this code and nothing that wraps it (case 336). */
export const assertRefused = (answer: unknown, ...codes: ReadonlyArray<number>): void => {
  const [payload] = answer as ReadonlyArray<{ readonly code?: unknown; readonly message?: unknown }>
  assert.include(codes, payload?.code as number)
  assert.isString(payload?.message)
  assert.notProperty(payload, "error")
}

/** A join or leave that failed with words. */
export const assertDenied = (answer: ReadonlyArray<unknown>): string => {
  assert.strictEqual(answer.length, 2)
  assert.strictEqual(answer[0], false)
  assert.isString(answer[1])
  assert.notStrictEqual(answer[1], "")
  return String(answer[1])
}
