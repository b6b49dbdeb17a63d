import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import type { WebSocket } from "ws"
import { connectText, eventText, openSocket } from "../attacks/wire.ts"
import { type Cli, startServer } from "./processes.ts"

const mebibyte = 1024 * 1024

/** The limit of the bytes that all clients have not read. */
const totalBacklog = 128

/** MiB above the limit at the peak: messages under way in both directions, and garbage of the last second: 130 to 165. */
const maxExcess = 200

/**
 * MiB that may stay: the allocator of glibc keeps 20 to 70 freed by the messages under way, and V8 up to 45 for new
 * objects. Without the arena, 200 to 290 stayed.
 */
const maxRest = 120

const slowReaders = 12

/** Members that leave a large office together, and MiB that may stay after them. */
const leavers = 1000
const maxRestOfLeavers = 20

/** Bytes of the replies to one slow reader: together they exceed the limit three times. */
const bytesPerReader = 40 * mebibyte

/** Calls of a slow reader at a time. */
const concurrentCalls = 2

const callsPerSecond = 50

interface Statistics {
  readonly resident: number
  readonly peak: number
}

const statisticsOf = ({ pid }: Cli) =>
  Effect.sync((): Statistics => {
    const status = readFileSync(`/proc/${pid}/status`, "utf8")
    const megabytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(status)?.[1]) / 1024
    return { resident: megabytes("VmRSS"), peak: megabytes("VmHWM") }
  })

/** Joins an office over a WebSocket; `onCall` gets the id of each call. */
const join = Effect.fnUntraced(function* (
  url: string,
  role: "agent" | "computer",
  office: string,
  onCall: (id: string, socket: WebSocket) => void = () => undefined,
  name: string = role
) {
  const socket = yield* Effect.acquireRelease(
    Effect.promise(() => openSocket(url)),
    (open) => Effect.sync(() => open.terminate())
  )
  socket.on("error", () => socket.terminate())
  yield* Effect.callback<void>((resume) => {
    socket.on("message", (data: Buffer) => {
      const text = data.toString("latin1", 0, 100)
      const [, call] = /^42\/smcp,(\d+)\["client:get_tools"/.exec(text) ?? []
      if (text === "2") socket.send("3")
      else if (text.startsWith("40/smcp,"))
        socket.send(eventText(1, "server:join_office", { role, name, office_id: office }))
      else if (text.startsWith("43/smcp,1[true")) resume(Effect.void)
      else if (call !== undefined) onCall(call, socket)
    })
    socket.send(connectText({ role }))
  })
  return socket
})

const call = (id: number) =>
  eventText(id, "client:get_tools", { agent: "agent", req_id: `r${id}`, computer: "computer" })

const reply = (id: string, padding: string) => `43/smcp,${id}[{"tools":[],"req_id":"r","padding":"${padding}"}]`

/** Calls at a fixed rate until the scope closes. Gives the number of replies so far. */
const ordinaryCalls = Effect.fnUntraced(function* (url: string) {
  const padding = "y".repeat(1000)
  yield* join(url, "computer", "ordinary", (id, socket) => socket.send(reply(id, padding)))
  const agent = yield* join(url, "agent", "ordinary")
  let sent = 1
  let replies = 0
  agent.on("message", (data: Buffer) => {
    if (data.toString("latin1", 0, 8) === "43/smcp,") replies += 1
  })
  const calling = Effect.sync(() => {
    sent += 1
    agent.send(call(sent))
  })
  yield* Effect.forkScoped(Effect.repeat(calling, Schedule.spaced(1000 / callsPerSecond)))
  return () => replies
})

/** A client that calls without a pause, and reads the replies or nothing. Ends with the last reply of its Computer. */
const caller = Effect.fnUntraced(function* (url: string, office: string, replyBytes: number, reads: boolean) {
  const padding = "x".repeat(replyBytes)
  const calls = bytesPerReader / replyBytes
  let next: () => void = () => undefined
  let replied = 0
  const computer = yield* join(url, "computer", office, (id, socket) => {
    socket.send(reply(id, padding))
    replied += 1
    next()
  })
  const agent = yield* join(url, "agent", office)
  if (!reads) agent.pause()
  let sent = 1
  next = () => {
    sent += 1
    if (sent <= calls + 1) agent.send(call(sent))
  }
  for (let started = 0; started < concurrentCalls; started++) next()
  // A client that reads nothing does not see that it was closed; its Computer does.
  let hasLeft = false
  computer.on("message", (data: Buffer) => {
    if (data.toString("latin1", 0, 100).includes("notify:leave_office")) hasLeft = true
  })
  const isDone = () => replied === calls || hasLeft
  yield* Effect.repeat(Effect.sync(isDone), { until: (done) => done, schedule: Schedule.spaced("50 millis") })
})

const callers = (url: string, replyBytes: number, reads: boolean, count: number): Effect.Effect<void> =>
  Effect.scoped(
    Effect.forEach(
      Array.from({ length: count }, (_, index) => `office-${index}`),
      (office) => caller(url, office, replyBytes, reads),
      { concurrency: "unbounded", discard: true }
    )
  )

const start = Effect.gen(function* () {
  const limit = ["--max-total-backlog", String(totalBacklog * mebibyte)]
  const { process: server, url } = yield* startServer(limit)
  const countReplies = yield* ordinaryCalls(url)
  return { server, url, countReplies }
})

/** Waits until the memory is as before but for some MiB, while ordinary calls go on. */
const returnsTo = (server: Cli, base: number, rest: number, countReplies: () => number) =>
  Effect.gen(function* () {
    const enough = countReplies() + callsPerSecond
    const settled = yield* statisticsOf(server).pipe(
      Effect.repeat({
        until: ({ resident }) => resident <= base + rest && countReplies() >= enough,
        schedule: Schedule.spaced("500 millis").pipe(Schedule.upTo({ duration: "30 seconds" }))
      }),
      Effect.andThen(statisticsOf(server))
    )
    assert.isAtMost(settled.resident, base + rest, `base ${base}, peak ${settled.peak}`)
    assert.isAtLeast(countReplies(), enough)
  })

const live = it.live.skipIf(process.platform !== "linux")

describe("resident memory of the Server", () => {
  for (const [size, replyBytes] of [
    ["1 MiB", mebibyte],
    ["64 KiB", 65_536]
  ] as const) {
    live(`returns when clients that read no replies of ${size} are closed`, () =>
      Effect.gen(function* () {
        const { countReplies, server, url } = yield* start
        // The space of V8 for new objects grows with the first large messages.
        yield* callers(url, replyBytes, true, 4)
        yield* Effect.sleep("3 seconds")
        const { resident: base } = yield* statisticsOf(server)
        yield* callers(url, replyBytes, false, slowReaders)
        yield* server.prints("total_backlog_exceeded", "stderr")
        const { peak } = yield* statisticsOf(server)
        assert.isAtMost(peak, base + totalBacklog + maxExcess, `base ${base}`)
        yield* returnsTo(server, base, maxRest, countReplies)
      })
    )
  }

  live("returns when a large office leaves", () =>
    Effect.gen(function* () {
      const { countReplies, server, url } = yield* start
      yield* Effect.sleep("3 seconds")
      const { resident: base } = yield* statisticsOf(server)
      const joined = yield* Effect.scoped(
        Effect.gen(function* () {
          const names = Array.from({ length: leavers }, (_, index) => `member ${index}`)
          const joining = (name: string) => join(url, "computer", "large", undefined, name)
          yield* Effect.forEach(names, joining, { concurrency: 20, discard: true })
          return yield* statisticsOf(server)
        })
      )
      yield* returnsTo(server, base, maxRestOfLeavers, countReplies)
      const { peak } = yield* statisticsOf(server)
      assert.isAtMost(peak, joined.peak + maxExcess, `joined ${joined.resident}`)
    })
  )
})
