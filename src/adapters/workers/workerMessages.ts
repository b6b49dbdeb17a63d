import { Schema } from "effect"
import { Role } from "../../domain/model/Membership.ts"

const Command = Schema.Union([
  Schema.TaggedStruct("Connect", {
    sid: Schema.String,
    node: Schema.String,
    version: Schema.String,
    role: Schema.Option(Role),
    reconnectKey: Schema.String,
    subject: Schema.String
  }),
  Schema.TaggedStruct("Join", {
    sid: Schema.String,
    office: Schema.String,
    role: Role,
    name: Schema.String,
    at: Schema.optional(Schema.Finite),
    takeOver: Schema.optionalKey(Schema.Boolean)
  }),
  Schema.TaggedStruct("Leave", { sid: Schema.String, office: Schema.String }),
  Schema.TaggedStruct("Disconnect", { sid: Schema.String })
])

/** Commands of a node to the registry, in their order. */
const Commands = Schema.TaggedStruct("Commands", {
  node: Schema.String,
  commands: Schema.Array(Command),
  capacity: Schema.Struct({ offices: Schema.Finite, membersPerOffice: Schema.Finite })
})
export type Commands = typeof Commands.Type

/** A node of the cluster of workers. */
const NodeAdded = Schema.TaggedStruct("NodeAdded", { node: Schema.String })

/** A connection, which comes with the message. */
const SentConnection = Schema.TaggedStruct("Connection", {
  /** The worker that must get it; any other one without. */
  to: Schema.optionalKey(Schema.Int),
  /** What a worker has read of it, in base64. */
  read: Schema.optionalKey(Schema.String)
})
export type SentConnection = typeof SentConnection.Type

/** No other process has the oldest connection any more that was passed on to this worker: it may answer. */
const Released = Schema.TaggedStruct("Released", {})
export type Released = typeof Released.Type

/** Messages of the primary process. */
const ToWorker = Schema.Union([
  SentConnection,
  Commands,
  NodeAdded,
  Schema.TaggedStruct("NodeLost", { node: Schema.String }),
  Released,
  /** The numbers of the workers that take connections, after each change. */
  Schema.TaggedStruct("Serving", { workers: Schema.Array(Schema.Int) }),
  /** Asks to reload files. */
  Schema.TaggedStruct("Reload", {}),
  /** Asks for a graceful shutdown. */
  Schema.TaggedStruct("Stop", { signal: Schema.String })
])
export type ToWorker = typeof ToWorker.Type

/** Messages of a worker. */
const ToPrimary = Schema.Union([
  NodeAdded,
  /** The worker takes connections from now on. */
  Schema.TaggedStruct("Ready", {}),
  /** The worker has taken the oldest connection that was sent to it. */
  Schema.TaggedStruct("Taken", {}),
  /** The worker has closed its copy of the oldest connection that it passes on. */
  Schema.TaggedStruct("Passed", {}),
  /** The worker shuts down, and takes no more connections. */
  Schema.TaggedStruct("Stopping", {}),
  /** The event loop of the worker turns. */
  Schema.TaggedStruct("Alive", {}),
  SentConnection,
  Commands
])
export type ToPrimary = typeof ToPrimary.Type

/** Makes both directions of a message between processes of one version: invalid ones are defects. */
const makeCodec = <A>(schema: Schema.Codec<A, unknown>) => {
  const json = Schema.toCodecJson(schema)
  const encode = Schema.encodeSync(json)
  return { encode: (message: A): object => Object(encode(message)), decode: Schema.decodeUnknownSync(json) }
}

export const toWorker = makeCodec(ToWorker)
export const toPrimary = makeCodec(ToPrimary)
