import { assert } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Layer, Queue, Result, Scope, Stream } from "effect"
import * as JsonSchemaValidator from "../../../src/adapters/jsonSchema/JsonSchemaValidator.ts"
import * as MemoryBytes from "../../../src/adapters/memory/MemoryByteLink.ts"
import type { DeviceGatewayOptions } from "../../../src/application/devices/DeviceGatewayOptions.ts"
import { DeviceGateway } from "../../../src/application/devices/gateway/DeviceGateway.ts"
import { ByteConnector, type ByteLink } from "../../../src/application/ports/ByteLink.ts"
import type { McpSessionError } from "../../../src/application/ports/McpSession.ts"
import { initialDecoderState, decodeChunk } from "../../../src/domain/devices/framing/decoder.ts"
import { encodeFrame, encodeJson } from "../../../src/domain/devices/framing/encoder.ts"
import type { Frame, FrameType } from "../../../src/domain/devices/framing/frame.ts"
import {
  type DeviceMessage,
  makeDeviceMessage,
  decodeDeviceMessage
} from "../../../src/domain/devices/deviceMessages.ts"
import { decodeUtf8Lossy, encodeUtf8 } from "../../../src/domain/utf8.ts"
import type { JsonObject } from "../../../src/domain/json.ts"

type Call = Extract<DeviceMessage, { readonly _tag: "Call" }>

/** A peer that a test scripts frame by frame. */
export interface RawPeer {
  readonly link: ByteLink
  readonly bytes: (bytes: Uint8Array) => Effect.Effect<void>
  readonly frame: (type: FrameType, payload: string, task?: string) => Effect.Effect<void>
  readonly message: (message: JsonObject) => Effect.Effect<void>
  /** The next frame; dies when the connection ends first. */
  readonly next: Effect.Effect<Frame>
  /** Payload of the next frame, as text. */
  readonly nextText: Effect.Effect<string>
  /** The next frame, decoded as an MCP message. */
  readonly nextMessage: Effect.Effect<DeviceMessage>
  /** The next frame, which must be a call. */
  readonly nextCall: Effect.Effect<Call>
  /** Sends a result of a call. */
  readonly succeed: (call: Pick<Call, "callId">, data: unknown) => Effect.Effect<void>
  /** Sends an AUTH frame. */
  readonly auth: (text: string) => Effect.Effect<void>
  /** Waits for the remote end to close, and returns the texts of the frames before. */
  readonly rest: Effect.Effect<ReadonlyArray<string>>
}

/** Scripts one end of a connection. */
export const playRaw = Effect.fnUntraced(function* (link: ByteLink): Effect.fn.Return<RawPeer, never, Scope.Scope> {
  const frames = yield* Queue.unbounded<Frame>()
  const over = yield* Deferred.make<void>()
  let state = initialDecoderState()
  yield* link.bytes.pipe(
    Stream.runForEach((chunk) => {
      const [next, events] = decodeChunk(state, chunk)
      state = next
      return Queue.offerAll(
        frames,
        events.flatMap((event) => (event._tag === "Frame" ? [event.frame] : []))
      )
    }),
    Effect.ensuring(Deferred.succeed(over, undefined)),
    Effect.forkScoped({ startImmediately: true })
  )
  const bytes = (some: Uint8Array) => Effect.ignore(link.send(some))
  const send = (frame: Frame) => bytes(Result.getOrThrow(encodeFrame(frame)))
  const textOf = ({ payload }: Frame) => decodeUtf8Lossy(payload)
  const next = Effect.raceFirst(
    Queue.take(frames),
    Effect.andThen(Deferred.await(over), Effect.flatMap(Queue.poll(frames), Effect.fromOption))
  ).pipe(Effect.orDie)
  const frame: RawPeer["frame"] = (type, payload, task = "task1234") =>
    send({ type, task, sequence: 0, payload: encodeUtf8(payload) })
  const message: RawPeer["message"] = (json) =>
    send({ type: "mcp", task: "mcp00001", sequence: 0, payload: encodeJson(json) })
  const nextMessage = Effect.map(next, ({ payload, type }) => {
    assert.strictEqual(type, "mcp")
    return Result.getOrThrow(decodeDeviceMessage(payload))
  })
  return {
    link,
    bytes,
    frame,
    message,
    next,
    nextText: Effect.map(next, textOf),
    nextMessage,
    nextCall: Effect.flatMap(nextMessage, (call) =>
      call._tag === "Call" ? Effect.succeed(call) : Effect.die(`no call: ${call._tag}`)
    ),
    succeed: ({ callId }, data) => message(makeDeviceMessage.result(callId, { success: true, data })),
    auth: (text) => frame("auth", text, "00000000"),
    rest: Effect.andThen(
      Deferred.await(over),
      Effect.map(Queue.clear(frames), (all) => all.map(textOf))
    )
  }
})

/** A gateway in memory at port 7, with scripted devices. */
export const makeGateway = Effect.fnUntraced(function* (options: Partial<DeviceGatewayOptions> = {}) {
  const context = yield* DeviceGateway.layer({ port: 7, authenticate: "allowAll", ...options }).pipe(
    Layer.provideMerge(Layer.fresh(MemoryBytes.layer)),
    Layer.provide(JsonSchemaValidator.layer),
    Layer.build,
    Effect.orDie
  )
  const gateway = Context.get(context, DeviceGateway)
  const { connect } = Context.get(context, ByteConnector)
  const newDevice = Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const link = yield* Scope.provide(Effect.orDie(connect({ host: "127.0.0.1", port: 7 })), scope)
    const peer = yield* Scope.provide(playRaw(link), scope)
    return { ...peer, hangUp: Scope.close(scope, Exit.void) }
  })
  return { ...gateway, bytes: Context.pick(ByteConnector)(context), newDevice }
})

/** A service without parameters. */
export const plain = { description: "does it", parameters: { type: "object", properties: {} } }

/** A registration of services without parameters. */
export const registration = (...names: ReadonlyArray<string>): JsonObject =>
  makeDeviceMessage.register(new Map(names.map((name) => [name, plain])))

/** Yields until the condition holds, without advancing the clock. */
export const until = (holds: Effect.Effect<boolean, McpSessionError>): Effect.Effect<void> =>
  Effect.flatMap(Effect.orDie(holds), (yes) => (yes ? Effect.void : Effect.andThen(Effect.yieldNow, until(holds))))
