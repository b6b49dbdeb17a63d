import { chmodSync, existsSync, readdirSync, statSync, symlinkSync } from "node:fs"
import { createServer } from "node:http"
import { connect } from "node:net"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { isPrivateFolder, listenOnSocket, makePrivateFolder } from "../../../src/adapters/http/unixSocket.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"

/** Opens a connection; gives the error code of a failed one. */
const tryConnect = (path: string) =>
  Effect.callback<string>((resume) => {
    const socket = connect(path)
    socket.once("connect", () => {
      socket.destroy()
      resume(Effect.succeed("connected"))
    })
    socket.once("error", (error: NodeJS.ErrnoException) => resume(Effect.succeed(error.code ?? "?")))
  })

/** A server that listens as long as the scope. */
const listening = Effect.fnUntraced(function* (path: string) {
  const server = createServer()
  yield* Effect.addFinalizer(() => Effect.callback<void>((resume) => void server.close(() => resume(Effect.void))))
  yield* listenOnSocket(server, path)
})

describe("private folder", () => {
  it.live("is made for this user only", () =>
    Effect.gen(function* () {
      const made = join(yield* temporaryFolder, "a", "b")
      yield* makePrivateFolder(made)
      assert.strictEqual(statSync(made).mode & 0o777, 0o700)
      assert.isTrue(yield* isPrivateFolder(made))
      yield* makePrivateFolder(made)
    })
  )

  it.live("is rejected when others can enter it, or when it is a link", () =>
    Effect.gen(function* () {
      const base = yield* temporaryFolder
      symlinkSync(base, join(base, "link"))
      assert.isFalse(yield* isPrivateFolder(join(base, "link")))
      chmodSync(base, 0o755)
      assert.isFalse(yield* isPrivateFolder(base))
      assert.include((yield* Effect.flip(makePrivateFolder(base))).message, "open to other users")
      assert.isFalse(yield* isPrivateFolder(join(base, "absent")))
      chmodSync(base, 0o700)
    })
  )
})

describe("Unix socket", () => {
  it.live("accepts connections as long as the scope, and leaves no file", () =>
    Effect.gen(function* () {
      const base = yield* temporaryFolder
      const path = join(base, "one")
      const scope = yield* Scope.make()
      yield* Scope.provide(listening(path), scope)
      assert.strictEqual(yield* tryConnect(path), "connected")
      assert.deepStrictEqual(readdirSync(base), ["one"])
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(readdirSync(base), [])
    })
  )

  it.live("replaces the socket of another server, whose end leaves the new one", () =>
    Effect.gen(function* () {
      const path = join(yield* temporaryFolder, "one")
      const first = yield* Scope.make()
      yield* Scope.provide(listening(path), first)
      yield* listening(path)
      yield* Scope.close(first, Exit.void)
      assert.isTrue(existsSync(path))
      assert.strictEqual(yield* tryConnect(path), "connected")
    })
  )

  it.live("fails in a folder that is absent", () =>
    Effect.gen(function* () {
      const path = join(yield* temporaryFolder, "absent", "one")
      const error = yield* Effect.flip(Effect.scoped(listenOnSocket(createServer(), path)))
      assert.include(error.message, `Cannot listen on ${path}`)
    })
  )
})
