import { assert } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import type { Peer, Refused, World } from "./World.ts"

/** Invalid requests for every event (the suite's `mal(x)`); the `[]` at the end means absent. */
export const malformed: ReadonlyArray<ReadonlyArray<unknown>> = [[null], ["str"], [42], [[]], []]

/** Connects a member with the role of its kind. */
export const agent = (world: World, version?: string) =>
  world.connect({ auth: { role: "agent" }, ...(version !== undefined && { version }) })
export const computer = (world: World) => world.connect({ auth: { role: "computer" } })

/** Sends a join; gives the values of the acknowledgement. */
export const join = (peer: Peer, role: string, name: string, office: string) =>
  peer.request("server:join_office", { role, name, office_id: office })

const joinedMember = Effect.fnUntraced(function* (
  connecting: Effect.Effect<Peer, Refused, Scope.Scope>,
  role: "agent" | "computer",
  name: string,
  office: string
) {
  const peer = yield* connecting
  assert.deepStrictEqual(yield* join(peer, role, name, office), [true, null])
  return peer
})

/** Connects an Agent that joins an office. */
export const agentIn = (world: World, office: string, name = "agent-1") =>
  joinedMember(agent(world), "agent", name, office)

/** Connects an Agent that handles the statuses of its calls. */
export const statusAgentIn = (world: World, office: string, name = "agent-1") =>
  joinedMember(world.connect({ auth: { role: "agent", a2c_features: ["call_status"] } }), "agent", name, office)

/** Connects a Computer that joins an office. */
export const computerIn = (world: World, office: string, name = "pc-1") =>
  joinedMember(computer(world), "computer", name, office)

/** Connects `agent-1` and `pc-1`, which join the office O1. The Computer answers all requests with a given value. */
export const agentAndComputer = Effect.fnUntraced(function* (world: World, reply?: unknown) {
  const [a1, c1] = [yield* agentIn(world, "O1"), yield* computerIn(world, "O1")]
  if (reply !== undefined) yield* c1.answers(() => Effect.succeed([reply]))
  return { a1, c1 }
})

/** Sends a request without effect. Its reply means that all earlier messages are handled and delivered. */
const settle = (peer: Peer) => peer.request("server:leave_office", { office_id: "nowhere" })

/** Waits until all messages of `from` are handled, and their effects have arrived at `at`. */
export const settled = (from: ReadonlyArray<Peer>, at: ReadonlyArray<Peer> = []) =>
  Effect.forEach([...from, ...at], settle, { discard: true })

/** The messages of one event that a peer received, in order. */
export const bodiesOf = (peer: Peer, event: string): ReadonlyArray<unknown> =>
  peer
    .received()
    .filter((message) => message.event === event)
    .map(({ body }) => body)

/** The number of messages that a peer received so far. */
export const newsSince = (peer: Peer, count: number) => peer.received().slice(count)

/** Asserts a flat error with this code and without an envelope (case 336). */
export const assertRejected = (answer: unknown, ...codes: ReadonlyArray<number>): void => {
  const [payload] = answer as ReadonlyArray<{ readonly code?: unknown; readonly message?: unknown }>
  assert.include(codes, payload?.code as number)
  assert.isString(payload?.message)
  assert.notProperty(payload, "error")
}

/** Asserts a rejected join or leave with a reason. */
export const assertDenied = (answer: ReadonlyArray<unknown>): string => {
  assert.strictEqual(answer.length, 2)
  assert.strictEqual(answer[0], false)
  assert.isString(answer[1])
  assert.notStrictEqual(answer[1], "")
  return String(answer[1])
}
