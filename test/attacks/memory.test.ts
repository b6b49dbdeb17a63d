import type { Socket } from "node:net"
import { assert, layer } from "@effect/vitest"
import { Effect, Schedule, type Scope } from "effect"
import { limits } from "./limits.ts"
import { admittedPolling, bare, member, type Raw, request, until } from "./raw.ts"
import { engines, Site } from "./Site.ts"
import { eventText } from "./wire.ts"

const mebibyte = 1024 * 1024

/** Bytes of one reply, and replies to one member: less than its own limit. */
const replyBytes = 3 * mebibyte
const repliesPerMember = 9

/** Replies to the slow reader. */
const repliesRead = 4

/** Offices with a member that reads nothing: together they exceed the total by far. */
const offices = ["hold-1", "hold-2", "hold-3", "hold-4", "hold-5"]

/** Memory beside the queued bytes, in bytes: messages that are being relayed, and garbage. */
const slack = 24 * mebibyte

const padding = "x".repeat(replyBytes)

const calls = Array.from({ length: repliesPerMember }, (_, id) =>
  eventText(100 + id, "client:get_tools", request("pc"))
)

/** Makes a Computer that replies to every call with many bytes. `allReplied` ends when the Server has the replies. */
const replyingComputer = Effect.fnUntraced(function* (office: string, replies: number) {
  const computer = yield* member("computer", "pc", office)
  let replied = 0
  computer.socket.on("message", (data: Buffer) => {
    const [, id] = /^42\/smcp,(\d+)\["client:get_tools"/.exec(data.toString("utf8", 0, 100)) ?? []
    if (id === undefined) return
    computer.socket.send(`43/smcp,${id}[{"tools":[],"req_id":"r","padding":"${padding}"}]`)
    replied += 1
  })
  const allReplied = Effect.sync(() => replied === replies).pipe(
    Effect.repeat({ until: (all) => all, schedule: Schedule.spaced("10 millis") }),
    Effect.andThen(computer.request("server:leave_office", { office_id: "nowhere" }))
  )
  return { allReplied }
})

/** The TCP socket of a member: only it can send a part of a frame. */
const netSocketOf = ({ socket }: Raw) => ({ socket: (socket as unknown as { readonly _socket: Socket })._socket })

/** Sends pongs without having read pings: the keepalive must not close the member first. */
const keepAlive = (send: Effect.Effect<unknown>) =>
  Effect.forkScoped(Effect.repeat(Effect.ignore(send), Schedule.spaced("400 millis")))

const pollingMember = Effect.fnUntraced(function* (role: "agent" | "computer", name: string, office: string) {
  const session = yield* admittedPolling(role)
  yield* session.post(eventText(1, "server:join_office", { role, name, office_id: office }))
  yield* until(session, "43/smcp,1[true")
  return session
})

const liveBytes = Effect.gen(function* () {
  return (yield* (yield* Site).state(true)).heap
})

/** Counts the connections that a limit closes from now on. */
const countClosed = Effect.fnUntraced(function* (limit: string) {
  const { metrics } = yield* Site
  const count = Effect.map(metrics, (all) => all.get(`a2c_limit_rejections_total{limit="${limit}"}`) ?? 0)
  const before = yield* count
  return Effect.map(count, (now) => now - before)
})

/** A member that reads a little all the time. Gives the number of complete replies that it has read. */
const slowReader = Effect.fnUntraced(function* (agent: Raw) {
  let replies = 0
  agent.socket.on("message", (data: Buffer) => {
    if (data.length > replyBytes) replies += 1
  })
  const readALittle = Effect.sync(() => agent.socket.resume()).pipe(
    Effect.andThen(Effect.sleep("1 millis")),
    Effect.andThen(Effect.sync(() => agent.socket.pause()))
  )
  yield* Effect.forkScoped(Effect.repeat(readALittle, Schedule.spaced("20 millis")))
  return () => replies
})

/** Fills the queues of members that read nothing; `hold` makes the member of an office and lets it send the calls. */
const fillQueues = Effect.fnUntraced(function* <E>(
  hold: (office: string) => Effect.Effect<void, E, Scope.Scope | Site>
) {
  const before = yield* liveBytes
  const closed = yield* countClosed("total_backlog_bytes")
  const slow = yield* replyingComputer("slow", repliesRead)
  const reader = yield* member("agent", "mallory", "slow")
  const countReplies = yield* slowReader(reader)
  reader.send(...calls.slice(0, repliesRead))
  for (const office of offices) {
    const { allReplied } = yield* replyingComputer(office, repliesPerMember)
    yield* hold(office)
    yield* allReplied
  }
  yield* slow.allReplied
  const held = (yield* liveBytes) - before
  assert.isBelow(held, limits.totalBacklogBytes + slack)
  assert.isAbove(yield* closed, 0)
  // The reader makes progress: members that read nothing were closed before it.
  yield* Effect.repeat(Effect.sync(countReplies), {
    until: (replies) => replies === repliesRead,
    schedule: Schedule.spaced("10 millis")
  })
})

/** Bytes of one message, and the part of it that a slow sender sends at once. */
const messageBytes = 8 * mebibyte
const partBytes = 7 * mebibyte

/** Members that send a part of a message each: together they exceed the total. */
const senders = Array.from({ length: 12 }, (_, index) => ({ name: `sender-${index}`, office: `senders-${index % 4}` }))

/** The header of a masked text frame with a large payload, whose mask changes nothing. */
const frameHeader = Buffer.alloc(14)
frameHeader.set([0x81, 0xff])
frameHeader.writeBigUInt64BE(BigInt(messageBytes), 2)

/** Sends a part of a message, and then as few bytes as the keepalive accepts. */
const sendSlowly = Effect.fnUntraced(function* (socket: Pick<Socket, "write">) {
  socket.write(Buffer.alloc(partBytes, "x"))
  yield* Effect.forkScoped(
    Effect.repeat(Effect.ignore(Effect.sync(() => socket.write("x".repeat(1024)))), Schedule.spaced("400 millis"))
  )
})

/** Members that send a message of medium size without a pause. */
const uploaders = ["upload-1", "upload-2", "upload-3"]

/** Time after which the progress of a connection is known. */
const observationTime = "2500 millis"

/** Sends a request in parts and waits for its reply. */
const upload = Effect.fnUntraced(function* (office: string) {
  const agent = yield* member("agent", "mallory", office)
  const { socket } = netSocketOf(agent)
  const text = eventText(1, "client:get_tools", { ...request("absent"), padding })
  const header = Buffer.from(frameHeader)
  header.writeBigUInt64BE(BigInt(text.length), 2)
  const frame = Buffer.concat([header, Buffer.from(text)])
  // A pong in the middle of a frame would be invalid.
  agent.socket.pause()
  for (let sent = 0; sent < frame.length; sent += mebibyte / 8) {
    socket.write(frame.subarray(sent, sent + mebibyte / 8))
    yield* Effect.sleep("20 millis")
  }
  agent.socket.resume()
  assert.include(yield* Effect.timeout(agent.waitFor("3/smcp,1"), "10 seconds"), "404")
})

/** Lets members hold parts of messages until some are closed, and then other members send theirs. */
const fillReceivers = Effect.fnUntraced(function* <E>(
  hold: (who: (typeof senders)[number]) => Effect.Effect<void, E, Scope.Scope | Site>
) {
  const before = yield* liveBytes
  const closed = yield* countClosed("total_incomplete_bytes")
  yield* Effect.forEach(senders, hold, { discard: true })
  yield* Effect.repeat(closed, {
    until: (count) => count > 0,
    schedule: Schedule.spaced("20 millis")
  })
  assert.isBelow((yield* liveBytes) - before, limits.totalIncompleteBytes + slack)
  yield* Effect.sleep(observationTime)
  yield* Effect.forEach(uploaders, upload, { discard: true, concurrency: "unbounded" })
})

/** What is zero without attackers. */
const occupied = ["backlog_bytes", "incomplete_bytes", "request_bytes"]

/** The maximum duration of an attack. */
const attackTime = "40 seconds"

/** Runs an attack while the witnesses call. Their calls succeed, and the memory is free again after it. */
const attack = <E>(run: Effect.Effect<void, E, Scope.Scope | Site>) =>
  Effect.gen(function* () {
    const site = yield* Site
    const before = yield* liveBytes
    const { failed } = yield* site.measureDuring(Effect.timeout(Effect.scoped(run), attackTime))
    assert.deepStrictEqual(failed, [])
    yield* Effect.repeat(site.metrics, {
      until: (metrics) => occupied.every((name) => metrics.get(`a2c_${name}`) === 0),
      schedule: Schedule.spaced("50 millis")
    })
    assert.isBelow((yield* liveBytes) - before, slack)
  })

for (const engine of engines) {
  layer(Site.layer(engine), { excludeTestServices: true, timeout: "30 seconds" })(
    `the total send backlog, with the engine ${engine}`,
    (it) => {
      it.effect(
        "closes members over WebSocket that read nothing, before a slow reader",
        () =>
          attack(
            fillQueues((office) =>
              Effect.gen(function* () {
                const agent = yield* member("agent", "mallory", office)
                agent.socket.pause()
                agent.send(...calls)
                yield* keepAlive(Effect.sync(() => agent.socket.send("3")))
              })
            )
          ),
        60_000
      )

      it.effect(
        "closes members over polling that read nothing, before a slow reader",
        () =>
          attack(
            fillQueues((office) =>
              Effect.gen(function* () {
                const session = yield* pollingMember("agent", "mallory", office)
                const reader = yield* bare(
                  `GET ${session.path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`
                )
                reader.socket.pause()
                yield* session.post(calls.join("\u001e"))
                yield* keepAlive(session.post("3"))
              })
            )
          ),
        60_000
      )
    }
  )

  layer(Site.layer(engine), { excludeTestServices: true, timeout: "30 seconds" })(
    `the total of incomplete messages, with the engine ${engine}`,
    (it) => {
      it.effect(
        "closes members over WebSocket that hold a part of a message, and none that sends on",
        () =>
          attack(
            fillReceivers(({ name, office }) =>
              Effect.gen(function* () {
                const { socket } = netSocketOf(yield* member("computer", name, office))
                socket.write(frameHeader)
                yield* sendSlowly(socket)
              })
            )
          ),
        60_000
      )

      it.effect(
        "closes members over polling that hold a part of a payload, and none that sends on",
        () =>
          attack(
            fillReceivers(({ name, office }) =>
              Effect.gen(function* () {
                const session = yield* pollingMember("computer", name, office)
                const { socket } = yield* bare(
                  `POST ${session.path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${messageBytes}\r\n\r\n`
                )
                yield* sendSlowly(socket)
              })
            )
          ),
        60_000
      )
    }
  )
}
