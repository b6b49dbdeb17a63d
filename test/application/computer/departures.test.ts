import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryLandingFolder } from "../../adapters/uploads/MemoryLandingFolder.ts"
import { makeMemoryMcpServer } from "../../../src/adapters/memory/MemoryMcp.ts"
import { asObject, type JsonObject, objectsIn } from "../../../src/domain/json.ts"
import { hangingTool, textResult, tool } from "../../conformance/members.ts"
import { autoApply, joined, losable, nextApproval, openApprovals, places } from "./testComputer.ts"

type Line = (typeof places)[number][0]

/**
 * A Computer in an office. Its MCP server `alpha` needs no consent: `hang` runs for long, `count` counts its runs, and `draw`
 * gives an image. The tool `consented` of `beta` needs consent.
 */
const inOffice = Effect.fnUntraced(function* ([protocol, lifecycle]: (typeof places)[number]) {
  const { hanging, started, stopped } = yield* hangingTool("hang")
  let runs = 0
  const count = tool("count", () => Effect.sync(() => textResult(String(++runs))))
  const image = { type: "image", mimeType: "image/png", data: "AAAA".repeat(20_000) }
  const draw = tool("draw", () => Effect.succeed({ content: [image] }))
  const { connect, lost } = yield* losable()
  const { files, layer } = makeMemoryLandingFolder()
  const { computer, receive, request } = yield* joined(
    {
      servers: {
        alpha: yield* makeMemoryMcpServer({ tools: [hanging, count, draw] }),
        beta: yield* makeMemoryMcpServer({ tools: [tool("consented")] })
      },
      configure: { alpha: { lifecycle, ...autoApply }, beta: { lifecycle } },
      settings: { approvers: ["agent"] },
      uploads: { folder: "/uploads" }
    },
    connect,
    protocol
  ).pipe(Effect.provide(layer))
  const { entries } = yield* computer.catalogue
  const nameOf = (original: string) =>
    [...entries].find(([, { originalName }]) => originalName === original)?.[0] ?? assert.fail()
  const call = (original: string, reqId: string) =>
    request("client:tool_call", { req_id: reqId, tool_name: nameOf(original), params: {}, timeout: 120 })
  const task = (method: string, params: JsonObject) =>
    Effect.map(request("client:mcp", { method, params }), (reply) => asObject(asObject(reply)["result"]))
  const start = (original: string) =>
    task("tasks/start", { id: "t1", tool: nameOf(original), params: {}, timeout: 600 })
  const openId = Effect.map(nextApproval(computer), ({ id }) => id)
  const open = Effect.map(openApprovals(computer), (all) => all.length)
  return {
    call,
    computer,
    files,
    lost,
    nameOf,
    open,
    openId,
    protocol,
    receive,
    request,
    runs: () => runs,
    start,
    started,
    stopped,
    task
  }
})
type InOffice = Effect.Success<ReturnType<typeof inOffice>>

const departures = {
  "another Computer leaves": ({ receive }: InOffice) =>
    receive("notify:leave_office", { office_id: "o", computer: "pc-2" }),
  "the Agent leaves": ({ receive }: InOffice) => receive("notify:leave_office", { office_id: "o", agent: "a" }),
  "the connection is lost": ({ lost }: InOffice) => Deferred.succeed(lost, "gone"),
  "the Computer leaves": ({ computer, protocol }: InOffice) =>
    Effect.orDie(Effect.andThen(computer.leave, computer.join({ office: "o", protocol })))
} satisfies { readonly [title: string]: (office: InOffice) => Effect.Effect<unknown> }

type Departure = keyof typeof departures

/** What belongs to the membership of the Agent, and what belongs to that of the Computer. */
const ofAgent: ReadonlyArray<Departure> = ["the Agent leaves", "the connection is lost", "the Computer leaves"]
const ofComputer: ReadonlyArray<Departure> = ["the Computer leaves"]

interface Row {
  /** The departures that end it. */
  readonly endsWhen: ReadonlyArray<Departure>
  readonly lines?: ReadonlyArray<Line>
  /** Makes it, and gives the effect that tells whether it is still there. */
  readonly begin: (office: InOffice) => Effect.Effect<Effect.Effect<boolean>, unknown, never>
}

const isUnended = (fiber: Fiber.Fiber<unknown, unknown>) => Effect.sync(() => fiber.pollUnsafe() === undefined)

/** An upload of six bytes, its first half. */
const half = { chunk_offset: 0, eof: false, blob: "AAAA", total_size: 6, sha256: "0".repeat(64) }

const rows: { readonly [title: string]: Row } = {
  "a running call": {
    endsWhen: ofAgent,
    begin: Effect.fnUntraced(function* ({ call, started, stopped }: InOffice) {
      yield* Effect.forkDetach(call("hang", "r1"))
      yield* started
      const stopping = yield* Effect.forkDetach(stopped, { startImmediately: true })
      return isUnended(stopping)
    })
  },
  "the result of a request id": {
    endsWhen: ofAgent,
    begin: Effect.fnUntraced(function* ({ call, runs }: InOffice) {
      yield* call("count", "r1")
      return Effect.map(call("count", "r1"), () => runs() === 1)
    })
  },
  "a running task": {
    endsWhen: ofComputer,
    begin: Effect.fnUntraced(function* ({ start, started, stopped, task }: InOffice) {
      yield* start("hang")
      yield* started
      const stopping = yield* Effect.forkDetach(stopped, { startImmediately: true })
      return Effect.gen(function* () {
        const { state } = yield* task("tasks/get", { id: "t1" })
        assert.strictEqual(yield* isUnended(stopping), state === "working")
        return state === "working"
      })
    })
  },
  "the result of a task": {
    endsWhen: ofComputer,
    begin: Effect.fnUntraced(function* ({ runs, start, task }: InOffice) {
      yield* start("count")
      yield* task("tasks/get", { id: "t1", seen: 1, wait: 1 })
      assert.strictEqual(runs(), 1)
      return Effect.map(task("tasks/get", { id: "t1" }), ({ result }) => result !== undefined)
    })
  },
  "the handle of large data": {
    endsWhen: ofComputer,
    lines: ["0.4"],
    begin: Effect.fnUntraced(function* ({ call, request }: InOffice) {
      const [block] = objectsIn(asObject(yield* call("draw", "r1"))["content"])
      const handle = asObject(block?.["_meta"])["a2c_blob_handle"]
      assert.isString(handle)
      return Effect.map(request("client:get_blob", { blob_handle: handle }), (chunk) => "blob" in asObject(chunk))
    })
  },
  "an upload": {
    endsWhen: ofAgent,
    lines: ["0.4"],
    begin: Effect.fnUntraced(function* ({ files, request }: InOffice) {
      const { upload_id } = asObject(yield* request("client:put_blob", half))
      const next = { upload_id, chunk_offset: 3, eof: false, blob: "AA==" }
      return Effect.gen(function* () {
        const isThere = files.size === 1
        assert.strictEqual("code" in asObject(yield* request("client:put_blob", next)), !isThere)
        return isThere
      })
    })
  },
  "the grant of the Agent": {
    endsWhen: ofAgent,
    begin: Effect.fnUntraced(function* ({ call, computer, openId, request }: InOffice) {
      const calling = yield* Effect.forkDetach(call("consented", "r1"))
      const always = { approval_id: yield* openId, action: "allow", scope: "tool" }
      yield* request("client:decide_approval", always)
      yield* Fiber.join(calling)
      return Effect.map(computer.grants, (grants) => grants.length === 1)
    })
  },
  "the grant of the owner": {
    endsWhen: [],
    begin: Effect.fnUntraced(function* ({ call, computer, open, openId }: InOffice) {
      const calling = yield* Effect.forkDetach(call("consented", "r1"))
      yield* computer.decideApproval(yield* openId, { action: "allow", scope: "tool" })
      yield* Fiber.join(calling)
      return Effect.gen(function* () {
        yield* Effect.forkDetach(call("consented", "r2"))
        yield* TestClock.adjust(0)
        return (yield* open) === 0
      })
    })
  },
  "the approval of a call": {
    endsWhen: ofAgent,
    begin: Effect.fnUntraced(function* ({ call, open, openId }: InOffice) {
      yield* Effect.forkDetach(call("consented", "r1"))
      yield* openId
      return Effect.map(open, (count) => count === 1)
    })
  },
  "the approval of a task": {
    endsWhen: ofComputer,
    begin: Effect.fnUntraced(function* ({ open, openId, start }: InOffice) {
      yield* start("consented")
      yield* openId
      return Effect.map(open, (count) => count === 1)
    })
  },
  "the approval of a call from outside the office": {
    endsWhen: [],
    begin: Effect.fnUntraced(function* ({ computer, nameOf, open, openId }: InOffice) {
      yield* Effect.forkDetach(computer.callTool({ tool: nameOf("consented"), params: {}, requester: "client" }))
      yield* openId
      return Effect.map(open, (count) => count === 1)
    })
  },
  "the right of the Agent to decide about its task": {
    endsWhen: ofAgent,
    begin: Effect.fnUntraced(function* ({ openId, request, start }: InOffice) {
      yield* start("consented")
      yield* openId
      return Effect.map(
        request("client:get_approvals", {}),
        (reply) => objectsIn(asObject(reply)["approvals"]).length === 1
      )
    })
  }
}

const cases = Object.entries(rows).flatMap(([what, { begin, endsWhen, lines }]) =>
  (Object.keys(departures) as ReadonlyArray<Departure>).flatMap((when) =>
    places
      .filter(([line]) => lines?.includes(line) ?? true)
      .map((place) => {
        const ends = endsWhen.includes(when)
        const title = `${what} ${ends ? "ends" : "stays"} when ${when} (${place.join(", ")})`
        return [title, { begin, ends, place, when }] as const
      })
  )
)

describe("departure from an office", () => {
  it.effect.each(cases)("%s", ([, { begin, ends, place, when }]) =>
    Effect.gen(function* () {
      const office = yield* inOffice(place)
      const isThere = yield* begin(office)
      yield* departures[when](office)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* isThere, !ends)
    })
  )
})
