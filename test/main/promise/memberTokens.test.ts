import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Layer, Logger, Redacted } from "effect"
import { makeSchemeAuthenticator } from "../../../src/adapters/auth/CredentialScheme.ts"
import * as Jwt from "../../../src/adapters/auth/Jwt.ts"
import { AuditLog } from "../../../src/application/ports/AuditLog.ts"
import { Authenticator } from "../../../src/application/ports/Authenticator.ts"
import type { OfficeStatus } from "../../../src/application/computer/office/OfficeConnection.ts"
import { Server } from "../../../src/application/server/lifecycle/Server.ts"
import { lineNames } from "../../../src/domain/wire/lines.ts"
import {
  type A2cError,
  type ComputerOptions,
  connectAgent,
  type MemberTokenOptions,
  runComputer,
  type RunningComputer,
  signMemberToken
} from "../../../src/main/entrypoints/promise.ts"
import { serverLayer } from "../../../src/main/layers/serverLayer.ts"
import { buildWorld } from "../../conformance/World.ts"
import { withWallClock } from "../../wallClock.ts"

const key = "a secret of thirty-two characters or more"
const minutes = 60_000

const authenticator = Effect.map(Jwt.make({ source: { _tag: "Secret", secret: Redacted.make(key) } }), (scheme) =>
  makeSchemeAuthenticator([scheme])
)

/** The URL of a Server that accepts tokens of the key. */
const serve = Effect.gen(function* () {
  const services = Layer.merge(AuditLog.layerNone, Layer.effect(Authenticator, authenticator))
  return Context.get(yield* Layer.build(Layer.provide(serverLayer(), services)), Server).url
}).pipe(Effect.provide(Logger.layer([])))

const tokenOf = async (options: Partial<MemberTokenOptions> = {}): Promise<string> =>
  (await signMemberToken({ key, office: "team", name: "page", ...options })).token

const quiet = { log: () => undefined }

/** Runs the Computer `page` of the office `team`, unless options say otherwise. */
const computerWith = (options: Pick<ComputerOptions, "url"> & Partial<ComputerOptions>) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: () => runComputer({ office: "team", name: "page", config: { servers: {} }, ...quiet, ...options }),
      catch: (error) => error as A2cError
    }),
    (computer) => Effect.promise(() => computer.close())
  )

/** The first status of a Computer with this tag. */
const statusOf = <Tag extends OfficeStatus["_tag"]>(computer: RunningComputer, tag: Tag) =>
  Effect.promise(async () => {
    const isWanted = (status: OfficeStatus): status is Extract<OfficeStatus, { readonly _tag: Tag }> =>
      status._tag === tag
    for await (const status of computer.status()) if (isWanted(status)) return status
    throw new Error(`the iteration ended without ${tag}`)
  })

describe("a token of one member", () => {
  it.live.each(lineNames)("admits its member on the line %s", (protocol) =>
    Effect.gen(function* () {
      const url = yield* serve
      const computer = yield* computerWith({ url, protocol, token: yield* Effect.promise(() => tokenOf()) })
      assert.strictEqual(yield* Effect.promise(() => computer.office()), "team")
    })
  )

  type Row = readonly [what: string, Partial<MemberTokenOptions>, code: number | string, message: string]
  const rows: ReadonlyArray<Row> = [
    ["office", { office: "other" }, "join_rejected", "'page' may not join office 'team'"],
    ["office whose id begins alike", { office: "tea" }, "join_rejected", "'page' may not join office 'team'"],
    ["name", { name: "desk" }, "join_rejected", "'desk' may not use the name 'page'"],
    ["role", { role: "agent" }, 403, "'page' may not be a Computer"],
    ["key", { key: `${key}!` }, 401, "The token is not valid"]
  ]
  it.live.each(rows)("of another %s gives one clear error", ([, options, ...expected]) =>
    Effect.gen(function* () {
      const url = yield* serve
      const token = yield* Effect.promise(() => tokenOf(options))
      const { code, message } = yield* Effect.flip(computerWith({ url, token }))
      assert.deepStrictEqual([code, message], expected)
    })
  )

  it.live("admits no Agent with the role of a Computer", () =>
    Effect.gen(function* () {
      const url = yield* serve
      const agent = connectAgent({ url, office: "team", name: "page", token: () => tokenOf(), ...quiet })
      const { code, message } = yield* Effect.flip(
        Effect.tryPromise({ try: () => agent, catch: (error) => error as A2cError })
      )
      assert.deepStrictEqual([code, message], [403, "'page' may not be an Agent"])
    })
  )

  const joins: ReadonlyArray<readonly [role: string, office: string, name: string, reason: string]> = [
    ["agent", "team", "page", "'page' may not be an Agent"],
    ["computer", "other", "page", "'page' may not join office 'other'"],
    ["computer", "teams", "page", "'page' may not join office 'teams'"],
    ["computer", "team", "desk", "'page' may not use the name 'desk'"],
    ["computer", "team", "\uff50age", "'page' may not use the name '\uff50age'"]
  ]
  it.live.each(lineNames)("joins as no other member on the line %s", (line) =>
    Effect.gen(function* () {
      const world = yield* buildWorld("socket.io", { authenticator: yield* authenticator })
      const token = yield* Effect.promise(() => tokenOf())
      const peer = yield* world.connect({ auth: { token, role: "computer" }, version: `${line}.0` })
      for (const [role, office, name, reason] of joins) {
        const reply = yield* peer.request("server:join_office", { role, office_id: office, name })
        assert.include(JSON.stringify(reply), reason)
      }
      assert.strictEqual(world.server.load().offices, 0)
      yield* peer.request("server:join_office", { role: "computer", office_id: "team", name: "page" })
      assert.strictEqual(world.server.load().offices, 1)
    })
  )

  it.live("fixes the role of a connection that states none", () =>
    Effect.gen(function* () {
      const world = yield* buildWorld("socket.io", { authenticator: yield* authenticator })
      const peer = yield* world.connect({ auth: { token: yield* Effect.promise(() => tokenOf()) } })
      const reply = yield* peer.request("server:join_office", { role: "agent", office_id: "team", name: "page" })
      assert.deepStrictEqual(reply, [false, "'page' may not be an Agent"])
    })
  )

  it.live.each([
    ["takes over its place with another token of the same subject", "page", "resolved"],
    ["takes over no place with the token of another subject", "ann", "join_rejected"]
  ] as const)("%s", ([, subject, outcome]) =>
    Effect.gen(function* () {
      const url = yield* serve
      yield* computerWith({ url, token: () => tokenOf() })
      const again = computerWith({ url, token: () => tokenOf({ subject }), takeOver: true })
      const code = yield* Effect.match(again, { onFailure: ({ code }) => code, onSuccess: () => "resolved" })
      assert.strictEqual(code, outcome)
    })
  )
})

describe("signMemberToken", () => {
  const rows: ReadonlyArray<readonly [what: string, options: object, message: string]> = [
    ["the role of operators", { role: "operator" }, "signMemberToken: 'role' must be agent or computer"],
    ["no key", { key: undefined }, "signMemberToken: 'key' must be a string that is not empty, but it is missing"],
    ["a short secret", { key: "s3cret" }, "The token secret must have at least 32 bytes"],
    ["a pattern", { office: "te*" }, "office must not be empty, nor contain '*'"],
    ["a misspelt option", { ofice: "team" }, "signMemberToken: there is no option 'ofice'"]
  ]
  it.each(rows)("rejects %s as an invalid configuration", async (_, options, message) => {
    const error: unknown = await tokenOf(options).catch((reason: unknown) => reason)
    assert.propertyVal(error, "code", "config_invalid")
    assert.include(String(error), message)
  })
})

describe("a token that expires", () => {
  it.live("admits no member", () =>
    withWallClock((change) =>
      Effect.gen(function* () {
        const url = yield* serve
        const token = yield* Effect.promise(() => tokenOf())
        change(11 * minutes)
        const { cause, code, message } = yield* Effect.flip(computerWith({ url, token }))
        assert.deepStrictEqual([code, message], [401, "The token has expired"])
        assert.propertyVal(cause, "reason", "expired_credentials")
      })
    )
  )

  it.live("ends its Computer with one clear error", () =>
    withWallClock((change) =>
      Effect.gen(function* () {
        const url = yield* serve
        const computer = yield* computerWith({ url, token: yield* Effect.promise(() => tokenOf()) })
        change(11 * minutes)
        const { error } = yield* statusOf(computer, "Failed")
        assert.strictEqual(error.message, "The token has expired")
        assert.propertyVal(error, "reason", "expired_credentials")
      })
    )
  )

  it.live("is replaced by a Computer that fetches its token", () =>
    withWallClock((change) =>
      Effect.gen(function* () {
        const url = yield* serve
        const isFetchedAgain = yield* Deferred.make<void>()
        let validity = 10
        const token = async () => {
          if (validity > 10) Deferred.doneUnsafe(isFetchedAgain, Exit.void)
          return tokenOf({ ttl: validity * minutes })
        }
        const computer = yield* computerWith({ url, token })
        validity = 60
        change(11 * minutes)
        yield* Deferred.await(isFetchedAgain)
        yield* statusOf(computer, "Joined")
      })
    )
  )
})
