import { assert, describe } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { type LineName, lineNamed, lineNames } from "../../src/domain/wire/lines.ts"
import { formatVersion } from "../../src/domain/wire/version.ts"
import { conform, type Peer, type World } from "./World.ts"

/** Members of this project send their role in the handshake on 0.2 only. */
const connect = (world: World, line: LineName, role: string) => {
  const { hasRoleInHandshake, version } = lineNamed(line)
  return world.connect({ version: formatVersion(version), auth: hasRoleInHandshake ? { role } : {} })
}

const enter = (peer: Peer, role: string, name: string, office_id = "O") =>
  peer.request("server:join_office", { role, name, office_id })

const member = Effect.fnUntraced(function* (world: World, line: LineName, role: string, name: string) {
  const peer = yield* connect(world, line, role)
  assert.deepStrictEqual(yield* enter(peer, role, name), [true, null])
  return peer
})

const onEachLine = (
  title: string,
  body: (world: World, line: LineName) => Effect.Effect<void, unknown, Scope.Scope>
): void => {
  for (const line of lineNames) conform(`${title}, on ${line}`, (world) => body(world, line))
}

const list = (agent: Peer, name: string) =>
  agent.request("server:list_room", { agent: name, req_id: "r", office_id: "O" })

const namesIn = (reply: ReadonlyArray<unknown>) =>
  (reply[0] as { readonly sessions: ReadonlyArray<{ readonly name: string }> }).sessions.map(({ name }) => name)

describe("protocol lines of one Server", () => {
  conform("keeps members of different lines in different offices of one id", (world) =>
    Effect.gen(function* () {
      const agents = yield* Effect.forEach(lineNames, (line) => member(world, line, "agent", `agent ${line}`))
      const computers = yield* Effect.forEach(lineNames, (line) => member(world, line, "computer", "desk"))
      assert.lengthOf(computers, lineNames.length)
      for (const [index, agent] of agents.entries()) {
        const name = `agent ${lineNames[index]}`
        assert.deepStrictEqual(namesIn(yield* list(agent, name)), [name, "desk"])
        assert.deepStrictEqual(yield* agent.receive("notify:enter_office"), { office_id: "O", computer: "desk" })
        assert.lengthOf(
          agent.received().filter(({ event }) => event === "notify:enter_office"),
          1
        )
      }
    })
  )

  conform("routes a request to the Computer of the same line", (world) =>
    Effect.gen(function* () {
      for (const line of lineNames) {
        const computer = yield* member(world, line, "computer", "desk")
        yield* computer.answers(() => Effect.succeed([{ tools: [], req_id: "r", line }]))
        const agent = yield* member(world, line, "agent", "agent")
        const request = { agent: "agent", req_id: "r", computer: "desk" }
        assert.deepStrictEqual(yield* agent.request("client:get_tools", request), [{ tools: [], req_id: "r", line }])
      }
    })
  )

  conform("finds no Computer of another line", (world) =>
    Effect.gen(function* () {
      yield* member(world, "0.3", "computer", "desk")
      const agent = yield* member(world, "0.4", "agent", "agent")
      const [reply] = yield* agent.request("client:get_tools", { agent: "agent", req_id: "r", computer: "desk" })
      assert.include([404, 4104], (reply as { readonly code: number }).code)
    })
  )

  conform("warns of an office id that another line uses", (world) =>
    Effect.gen(function* () {
      yield* member(world, "0.2", "computer", "desk")
      assert.isFalse(world.logs.some(({ text }) => text.includes("in use on another protocol line")))
      yield* member(world, "0.4", "computer", "desk")
      const [warning] = world.logs.filter(({ text }) => text.includes("in use on another protocol line"))
      assert.strictEqual(warning?.level, "Warn")
      assert.include(warning?.text, "0.2")
    })
  )

  conform(
    "rejects a line that is not served, with the full range",
    (world) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(connect(world, "0.3", "agent"))
        assert.include(error.message, world.transport === "memory" ? "0.2.0 to 0.4.999" : "xhr")
        yield* member(world, "0.2", "agent", "old")
        yield* member(world, "0.4", "agent", "new")
      }),
    { lines: ["0.2", "0.4"] }
  )

  onEachLine("rejects a second Agent with a text", (world, line) =>
    Effect.gen(function* () {
      yield* member(world, line, "agent", "first")
      const second = yield* connect(world, line, "agent")
      const [accepted, reason] = yield* enter(second, "agent", "second")
      assert.isFalse(accepted)
      assert.match(String(reason), /^Room already has an agent/)
      assert.include(String(reason), "'O'")
    })
  )

  onEachLine("passes the update of skills on to the office", (world, line) =>
    Effect.gen(function* () {
      const agent = yield* member(world, line, "agent", "agent")
      const computer = yield* member(world, line, "computer", "desk")
      yield* computer.notify("server:update_skills", { computer: "desk" })
      assert.deepStrictEqual(yield* agent.receive("notify:update_skills"), { computer: "desk" })
    })
  )

  for (const event of ["client:get_skills", "client:get_skill", "client:get_blob", "client:put_blob"]) {
    onEachLine(`routes ${event} and its reply unchanged`, (world, line) =>
      Effect.gen(function* () {
        const computer = yield* member(world, line, "computer", "desk")
        const agent = yield* member(world, line, "agent", "agent")
        const reply = { req_id: "r", anything: [1, { two: null }] }
        yield* computer.answers((name) => Effect.succeed(name === event ? [reply] : []))
        const chunk = { name: "skill", blob_handle: "handle", chunk_offset: 0, eof: true, blob: "AA==" }
        const request = { agent: "agent", req_id: "r", computer: "desk", ...chunk }
        assert.deepStrictEqual(yield* agent.request(event, request), [reply])
      })
    )
  }

  conform("takes the role of a later line from the join alone", (world) =>
    Effect.gen(function* () {
      const peer = yield* world.connect({ version: "0.4.0", auth: { role: "nonsense" } })
      assert.deepStrictEqual(yield* enter(peer, "computer", "desk"), [true, null])
      const [accepted, reason] = yield* enter(peer, "agent", "desk")
      assert.isFalse(accepted)
      assert.include(String(reason), "Role mismatch")
    })
  )

  conform("lets a Computer leave the office of its line", (world) =>
    Effect.gen(function* () {
      yield* member(world, "0.2", "computer", "desk")
      const peer = yield* member(world, "0.4", "computer", "desk")
      const agent = yield* member(world, "0.4", "agent", "agent")
      assert.deepStrictEqual(yield* peer.request("server:leave_office", { office_id: "O" }), [true, null])
      assert.deepStrictEqual(yield* agent.receive("notify:leave_office"), { office_id: "O", computer: "desk" })
      assert.deepStrictEqual(namesIn(yield* list(agent, "agent")), ["agent"])
    })
  )
})
