import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Attack } from "../Attack.ts"
import { bare, member, admittedPolling, type Raw, request, until } from "../raw.ts"
import { eventText } from "../wire.ts"

const mebibyte = 1024 * 1024
const padding = "x".repeat(3 * mebibyte)

/** Makes a Computer that replies to every call with three million bytes. */
const generous = (computer: Raw) => {
  computer.socket.on("message", (data: Buffer) => {
    const [, id] = /^42\/smcp,(\d+)\["client:get_tools"/.exec(data.toString("utf8", 0, 100)) ?? []
    if (id !== undefined) computer.socket.send(`43/smcp,${id}[{"tools":[],"req_id":"r","padding":"${padding}"}]`)
  })
}

/** Calls whose replies exceed the backlog limit of one member. */
const calls = Array.from({ length: 30 }, (_, id) => eventText(100 + id, "client:get_tools", request("pc")))

/** Waits until another member leaves the office. */
const receivesLeave = (peer: Raw, what: string) =>
  peer.waitFor(`2/smcp,["notify:leave_office",{"office_id":"slow","${what}`)

/** Attacks by slow readers and stale connections. */
export const slow: ReadonlyArray<Attack> = [
  {
    attack: "90 MB of replies that the member does not read",
    answer: "closed beyond 64 MiB; the memory is free again",
    run: Effect.gen(function* () {
      const computer = yield* member("computer", "pc", "slow")
      generous(computer)
      const agent = yield* member("agent", "mallory", "slow")
      agent.socket.pause()
      agent.send(...calls)
      yield* receivesLeave(computer, "agent")
    })
  },
  {
    attack: "90 MB of replies over polling that the member does not read",
    answer: "closed beyond 64 MiB; the memory is free again",
    run: Effect.gen(function* () {
      const computer = yield* member("computer", "pc", "slow")
      generous(computer)
      const session = yield* admittedPolling("agent")
      yield* session.post(eventText(1, "server:join_office", { role: "agent", name: "mallory", office_id: "slow" }))
      yield* until(session, "43/smcp,1[true")
      const reader = yield* bare(`GET ${session.path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
      reader.socket.pause()
      yield* session.post(calls.join("\u001e"))
      yield* receivesLeave(computer, "agent")
    })
  },
  {
    attack: "notifications that the member does not read",
    answer: "delivered later, each once",
    run: Effect.gen(function* () {
      const computer = yield* member("computer", "pc", "slow")
      generous(computer)
      const agent = yield* member("agent", "mallory", "slow")
      agent.socket.pause()
      agent.send(...calls.slice(0, 8))
      // The Server has handled them when the Computer receives the next message.
      for (let sent = 0; sent < 8; sent += 1) yield* computer.waitFor("2/smcp,")
      for (let sent = 0; sent < 500; sent += 1) {
        computer.send(eventText(undefined, "server:update_desktop", { computer: "pc" }))
      }
      yield* computer.request("server:join_office", { role: "computer", name: "pc", office_id: "slow" })
      agent.socket.resume()
      yield* agent.waitFor('2/smcp,["notify:update_desktop"')
      const [again] = yield* agent.request("client:get_tools", request("absent"))
      assert.deepInclude(again, { code: 404 })
      const [office] = yield* agent.request("server:list_room", {
        agent: "mallory",
        req_id: "r",
        office_id: "slow"
      })
      assert.deepInclude(JSON.stringify(office), "pc")
    })
  },
  {
    attack: "a half-open connection: no data arrives, and no close",
    answer: "closed after the keepalive timeout; a session takeover works at once",
    run: Effect.gen(function* () {
      const auth = { instance: "the secret that I made up for myself" }
      const watcher = yield* member("computer", "watcher", "slow")
      const mute = yield* member("computer", "mute", "slow", auth)
      const other = yield* member("computer", "other", "slow")
      mute.socket.pause()
      other.socket.pause()
      const before = performance.now()
      yield* member("computer", "mute", "slow", auth)
      // The keepalive timeout is 2500 ms.
      assert.isBelow(performance.now() - before, 2000)
      yield* receivesLeave(watcher, 'computer":"mute')
      yield* receivesLeave(watcher, 'computer":"other')
    })
  }
]
