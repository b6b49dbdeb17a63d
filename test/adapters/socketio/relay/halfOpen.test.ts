import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, type Scope } from "effect"
import { WebSocket } from "ws"
import * as RelayServer from "../../../../src/adapters/socketio/RelayServer.ts"
import { type Link } from "../../../../src/application/ports/Transport.ts"
import { ignoreMessage, serveLinks } from "../links.ts"

/** Keepalive interval and timeout in milliseconds. */
const keepalive = { pingInterval: 200, pingTimeout: 300 }

/** A Server that exposes its end of one link, and the end of the link's scope. */
const site = (options: RelayServer.RelayServerOptions) =>
  Effect.gen(function* () {
    const accepted = yield* Deferred.make<Link>()
    const gone = yield* Deferred.make<void>()
    const { url } = yield* serveLinks(RelayServer.layer(options), (link) =>
      Effect.acquireRelease(Effect.as(Deferred.succeed(accepted, link), ignoreMessage), () =>
        Deferred.succeed(gone, undefined)
      )
    )
    return { url, far: Deferred.await(accepted), gone: Deferred.await(gone) }
  })

/** A member that polls only on request. */
const openPolling = Effect.fnUntraced(function* (url: string) {
  const address = `${url}/smcp/?EIO=4&transport=polling&a2c_version=0.2.0`
  const text = (path: string, body?: string) =>
    Effect.promise(async () => (await fetch(path, body === undefined ? {} : { method: "POST", body })).text())
  const { sid } = JSON.parse((yield* text(address)).slice(1)) as { readonly sid: string }
  const path = `${address}&sid=${sid}`
  yield* text(path, "40/smcp,")
  assert.match(yield* text(path), /^40\/smcp,/)
  return { sid, poll: text(path), post: (body: string) => text(path, body) }
})

const upgrade = (url: string, sid: string): Effect.Effect<WebSocket, never, Scope.Scope> =>
  Effect.gen(function* () {
    const socket = yield* Effect.acquireRelease(
      Effect.sync(
        () => new WebSocket(`${url.replace("http", "ws")}/smcp/?EIO=4&transport=websocket&a2c_version=0.2.0&sid=${sid}`)
      ),
      (open) => Effect.sync(() => open.terminate())
    )
    yield* Effect.callback<void>((resume) => void socket.once("open", () => resume(Effect.void)))
    socket.send("2probe")
    yield* Effect.callback<void>((resume) => void socket.once("message", () => resume(Effect.void)))
    socket.send("5")
    return socket
  })

type Site = Effect.Success<ReturnType<typeof site>>
const live = (
  title: string,
  options: RelayServer.RelayServerOptions,
  body: (site: Site) => Effect.fn.Return<void, unknown, Scope.Scope>
) => it.live(title, () => Effect.flatMap(site(options), Effect.fnUntraced(body)), 10_000)

describe("a stale connection", () => {
  live("closes after an upgrade to WebSocket during a pending ping", keepalive, function* ({ far, url }) {
    const { poll, sid } = yield* openPolling(url)
    assert.strictEqual(yield* poll, "2")
    yield* upgrade(url, sid)
    assert.strictEqual(yield* (yield* far).closed, "keepalive_timeout")
  })

  live("closes soon although its member does not poll", {}, function* ({ far, gone, url }) {
    yield* openPolling(url)
    const began = performance.now()
    yield* (yield* far).close("enough")
    yield* gone
    // The default keepalive timeout is longer.
    assert.isBelow(performance.now() - began, 15_000)
  })
})
