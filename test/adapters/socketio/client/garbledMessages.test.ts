import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  A2cError,
  connectAgent,
  type NodeAgentConnectOptions,
  runServer
} from "../../../../src/main/entrypoints/promise.ts"
import { type HttpProxy, type Message, openHttpProxy, type Upgrades } from "./HttpProxy.ts"

const log = () => undefined

const startServer = Effect.acquireRelease(
  Effect.promise(() => runServer({ authenticate: "allowAll", log })),
  (server) => Effect.promise(() => server.close())
)

const openProxy = Effect.flatMap(startServer, ({ url }) => openHttpProxy(Number(new URL(url).port)))

const join = ({ url }: HttpProxy, options: Partial<NodeAgentConnectOptions> = {}) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => connectAgent({ url, office: "o", name: "m", log, ...options }),
      catch: (error) => (error instanceof A2cError ? error : new A2cError("internal", String(error)))
    }),
    (member) => Effect.promise(() => member.close())
  )

const separator = "\u001e"

const handshake = (changes: object = {}) =>
  `0${JSON.stringify({ sid: "a", upgrades: [], pingInterval: 25_000, pingTimeout: 20_000, maxPayload: 1e6, ...changes })}`

/** First messages that open no connection. */
const openings: ReadonlyArray<Message> = [
  "",
  "0",
  "0{",
  "0null",
  "0[1,2]",
  "0{}",
  '0{"sid":"a"}',
  handshake({ sid: 1 }),
  handshake({ sid: "" }),
  handshake({ upgrades: null }),
  handshake({ upgrades: "websocket" }),
  handshake({ upgrades: { length: 1e9 } }),
  handshake({ pingInterval: "25000" }),
  handshake({ pingTimeout: -1 }),
  handshake({ maxPayload: {} }),
  "1",
  "2",
  "2probe",
  "3probe",
  "4",
  "4garbage",
  '44{"message":1}',
  "40{",
  "451-",
  "5",
  "6",
  "[1,2]",
  "b4",
  Buffer.of(0xff, 0xfe, 0x00)
]

/** Messages of an open connection that no Server sends to a member which waits for admission, or has joined. */
const invalid: ReadonlyArray<Message> = [
  "",
  "0",
  "0{",
  handshake(),
  "4",
  "49",
  "4garbage",
  "40{",
  "40/smcp,",
  '40/smcp,{"sid":""}',
  '40/smcp,{"sid":{}}',
  "42/smcp,",
  "42/smcp,7",
  "42/smcp,[1]",
  '42/smcp,["connect"]',
  "43/smcp,0",
  "43/smcp,[]",
  "44/smcp,",
  "44/smcp,{}",
  '44{"message":1}',
  '44/smcp,{"message":{"toString":1}}',
  '451-/smcp,["a"]\u001e42/smcp,["b"]',
  "bAAAA"
]

/** Messages that cannot belong to the reply to a connect: before it, no other message follows them. */
const early: ReadonlyArray<Message> = [
  '40{"sid":"a"}',
  '40/other,{"sid":"a"}',
  "41",
  "41/other,",
  '42["a"]',
  '42/other,["a"]',
  "430[]",
  "43/smcp,0[]",
  '44{"message":"no"}',
  '44/other,{"message":"no"}',
  "451-",
  '451-["a",{"_placeholder":true,"num":0}]',
  '451-/smcp,["a",{"_placeholder":true,"num":0}]',
  "461-/smcp,0[]"
]

const joined = [
  '40/smcp,{"sid":"a"}',
  '44/smcp,{"message":"no"}',
  '44/smcp,{"message":"no","data":{"code":401}}',
  '44/smcp,"no"'
]

const split = (message: Message): ReadonlyArray<Message> =>
  typeof message === "string" ? message.split(separator) : [message]

const named = (messages: ReadonlyArray<Message>) => messages.map((message) => ({ message, what: String(message) }))

/** Waits until a member that `disturb` disconnects has rejoined. Fails when the member gives up. */
const awaitRejoin = (
  member: { readonly status: () => AsyncIterable<{ readonly _tag: string }> },
  disturb: () => void
) =>
  Effect.promise(async () => {
    let isDisturbed = false
    let wasDisconnected = false
    for await (const { _tag } of member.status()) {
      assert.notStrictEqual(_tag, "Failed")
      if (_tag !== "Joined") wasDisconnected = true
      else if (wasDisconnected) return
      if (isDisturbed) continue
      isDisturbed = true
      disturb()
    }
  })

describe("garbled messages", { concurrent: true }, () => {
  const opening = (messages: ReadonlyArray<Message>) =>
    Effect.gen(function* () {
      const proxy = yield* openProxy
      const body = messages.map((message) => Buffer.from(message).toString()).join(separator)
      proxy.answer = () => ({ status: 200, type: "text/plain", body })
      const error = yield* Effect.flip(join(proxy))
      assert.strictEqual(error.code, "unreachable")
      assert.match(error.message, /the response is of something in between|closed before the reply/)
    }).pipe(Effect.scoped)

  it.live.each(named(openings))("fail the first connection that gets '$what'", ({ message }) => opening([message]))

  it.live.each(named(invalid))("fail the first connection that gets a handshake and '$what'", ({ message }) =>
    opening([handshake(), message])
  )

  it.live.each(named(early))("fail the first attempt whose WebSocket gets a handshake and '$what'", ({ message }) =>
    Effect.gen(function* () {
      const proxy = yield* openProxy
      proxy.upgrades = [handshake(), message]
      const error = yield* Effect.flip(join(proxy, { transports: ["websocket"], connectTimeout: 600_000 }))
      assert.match(error.message, /the response is of something in between/)
    })
  )

  const rejoin = (upgrades: Upgrades, disturb: (proxy: HttpProxy) => void) =>
    Effect.gen(function* () {
      const proxy = yield* openProxy
      proxy.upgrades = upgrades
      const member = yield* join(proxy)
      if (upgrades === "pass") yield* Effect.repeat(Effect.sleep("5 millis"), { until: () => proxy.upgraded() === 1 })
      yield* awaitRejoin(member, () => disturb(proxy))
    }).pipe(Effect.scoped)

  it.live.each(named(openings))(
    "do not end a member whose reconnect gets '$what' over polling",
    ({ message }) =>
      rejoin(403, (proxy) => {
        let answered = 0
        proxy.answer = () => (answered++ < 2 ? { status: 200, type: "text/plain", body: message } : undefined)
        proxy.closeAll()
      }),
    20_000
  )

  it.live.each(named(openings))(
    "let a member whose reconnect gets '$what' over WebSocket go on with polling",
    ({ message }) =>
      rejoin("pass", (proxy) => {
        proxy.upgrades = [message]
        proxy.closeAll()
      }),
    20_000
  )

  it.live.each(named(early))(
    "let a member whose reconnect gets a handshake and '$what' over WebSocket go on with polling",
    ({ message }) =>
      rejoin("pass", (proxy) => {
        proxy.upgrades = [handshake(), message]
        proxy.closeAll()
      }),
    20_000
  )

  it.live.each(named([...invalid, ...joined]))(
    "do not end a member that gets '$what' over polling",
    ({ message }) => rejoin(403, (proxy) => proxy.inject(...split(message))),
    20_000
  )

  it.live.each(named([...invalid, ...joined]))(
    "do not end a member that gets '$what' over WebSocket",
    ({ message }) => rejoin("pass", (proxy) => proxy.inject(...split(message))),
    20_000
  )
})

describe("a rejection that has only a text", () => {
  it.live("is reported", () =>
    Effect.gen(function* () {
      const proxy = yield* openProxy
      const body = [handshake(), '44/smcp,"Unable to connect"'].join(separator)
      proxy.answer = () => ({ status: 200, type: "text/plain", body })
      assert.include((yield* Effect.flip(join(proxy))).message, "Unable to connect")
    })
  )
})
