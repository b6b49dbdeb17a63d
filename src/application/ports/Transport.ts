import { Context, Data, Duration, Effect, type Exit, Match, type Scope } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import { maxTimeoutSeconds } from "../../domain/model/fields.ts"
import type { Version, VersionMismatch, ServedVersions } from "../../domain/wire/version.ts"
import { type ProtocolError, timedOut } from "../../domain/model/ProtocolError.ts"
import type { Body } from "./Body.ts"
import { type Lines, linesNamed } from "../../domain/wire/lines.ts"

/** The values of an acknowledgement, in order; may be empty. */
export type Reply = ReadonlyArray<Body>

/** The link was closed by either end, or lost. A message may or may not have arrived. */
export class LinkClosed extends Data.TaggedError("LinkClosed")<{ readonly reason: string }> {
  override get message(): string {
    return `Connection closed: ${this.reason}`
  }
}

/** The far end did not acknowledge before the timeout. */
export class RequestTimeout extends Data.TaggedError("RequestTimeout")<{ readonly timeout: Duration.Duration }> {}

/** The message was not sent: it is too large, or cannot be encoded. The link stays open. */
export class SendFailed extends Data.TaggedError("SendFailed")<{ readonly error: ProtocolError }> {}

/** The protocol error of a request that failed; `closed` is that of a closed link. */
export const toLinkError = (closed: ProtocolError) =>
  Match.typeTags<LinkClosed | RequestTimeout | SendFailed, ProtocolError>()({
    LinkClosed: () => closed,
    RequestTimeout: ({ timeout }) => timedOut(Duration.toSeconds(timeout)),
    SendFailed: ({ error }) => error
  })

export type ReplyExit = Exit.Exit<Reply, LinkClosed | RequestTimeout | SendFailed>

/**
 * Asked when the timeout of a request has passed: how much longer the request waits, at most {@link maxExtension} in
 * total. Zero ends it with {@link RequestTimeout}.
 */
export type ExtendTimeout = () => Duration.Duration

/** The longest delay of a timer, in milliseconds. */
export const maxTimerMillis = 2 ** 31 - 1

export const maxExtension = Duration.seconds(maxTimeoutSeconds)

/** Collects the time by which a request is extended. */
export const makeExtension = () => {
  let leftMillis = Duration.toMillis(maxExtension)
  let pendingMillis = 0
  return {
    /** Extends the request, within the maximum. */
    add: (time: Duration.Duration): void => {
      const added = Math.min(leftMillis, Duration.toMillis(time))
      leftMillis -= added
      pendingMillis += added
    },
    take: (): Duration.Duration => {
      const taken = Duration.millis(pendingMillis)
      pendingMillis = 0
      return taken
    }
  }
}

/** One end of a connection between a member and the Server. Both ends send, and messages arrive in order. */
export interface Link {
  /** Unique among the links of this transport. */
  readonly id: string
  /**
   * Sends a message and waits for its acknowledgement. Fails with {@link LinkClosed} as soon as the link closes.
   * Interruption drops the reply and does not notify the far end.
   */
  readonly request: (
    event: string,
    body: Body,
    timeout: Duration.Duration,
    extend?: ExtendTimeout
  ) => Effect.Effect<Reply, LinkClosed | RequestTimeout | SendFailed>
  /**
   * Sends a request without a fiber, for relays. Calls `onReply` exactly once, and never before this returns. The
   * returned function cancels: `onReply` is not called any more.
   */
  readonly startRequest: (
    event: string,
    body: Body,
    timeout: Duration.Duration,
    onReply: (exit: ReplyExit) => void,
    extend?: ExtendTimeout
  ) => () => void
  /** Sends a message without an acknowledgement. Success does not mean that it arrived. */
  readonly notify: (event: string, body: Body) => Effect.Effect<void, LinkClosed | SendFailed>
  /** As {@link notify}, without an effect, for relays: returns the error of a message that was not sent. */
  readonly post: (event: string, body: Body) => LinkClosed | SendFailed | undefined
  /** Largest body that the far end accepts, in bytes of JSON text. */
  readonly maxBytes: () => number
  readonly fits: (body: Body) => boolean
  /** Send backlog: bytes that the far end has not read yet, as far as this end can know. */
  readonly backlog: () => number
  /** Bytes that the network has taken from this end, as far as it can know: they grow while the far end reads. */
  readonly sentBytes: () => number
  /** Stops reading for some milliseconds where the transport can, so that backpressure slows the far end. */
  readonly pauseReading: (millis: number) => void
  /** Resolves with the reason when the link closes. */
  readonly closed: Effect.Effect<string>
  /** Closes the link and ends all requests at both ends. */
  readonly close: (reason: string) => Effect.Effect<void>
}

/** Implements {@link Link.request} by {@link Link.startRequest}. */
export const requestUsing =
  (startRequest: Link["startRequest"]): Link["request"] =>
  (event, body, timeout, extend) =>
    Effect.callback((resume) => {
      const cancel = startRequest(event, body, timeout, resume, extend)
      return Effect.sync(cancel)
    })

/** Implements {@link Link.notify} by {@link Link.post}. */
export const notifyUsing =
  (post: Link["post"]): Link["notify"] =>
  (event, body) =>
    Effect.suspend(() => {
      const error = post(event, body)
      return error === undefined ? Effect.void : Effect.fail(error)
    })

/**
 * Handles a message and gives its acknowledgement, which is dropped when the sender wants none. It never fails, and is
 * interrupted when the link closes.
 */
export type MessageHandler = (event: string, body: Body) => Effect.Effect<Reply>

/** What a connecting client sent, after the version check. */
export interface Handshake {
  readonly version: Version
  /** The `auth` value of the connection, not validated. */
  readonly auth: unknown
  /** Headers of the opening request; names in lower case. */
  readonly headers: { readonly [name: string]: string | ReadonlyArray<string> | undefined }
  /** The address of the client without the port, or a word for a transport without addresses. */
  readonly remoteAddress: string
}

/** The Server rejects a connection with one of the protocol's codes. */
export class AdmissionRejected extends Data.TaggedError("AdmissionRejected")<{
  readonly code: number
  readonly message: string
  /** Machine-readable, an {@link AdmissionReason} or a word of a newer Server. */
  readonly reason?: string
  /** A retry may succeed: the cause is temporary, or every attempt sends new credentials. */
  readonly retryable?: boolean
}> {}

/** Machine-readable reasons of a rejected connection. */
export type AdmissionReason =
  | "missing_credentials"
  | "invalid_credentials"
  | "expired_credentials"
  | "role_not_granted"
  /** A service that checks the credentials cannot be reached. */
  | "unavailable"

/** The Server cannot listen on its address. */
export class ListenError extends Data.TaggedError("ListenError")<{ readonly message: string }> {}

/** The Server's end of a transport. */
export class TransportServer extends Context.Service<
  TransportServer,
  {
    /**
     * Accepts connections until the scope closes. Calls `accept` for each one that passes the version check, in a scope
     * that closes right after its link. Calls `onBacklogChange` after every message that grows the backlog of a link, and
     * when it shrinks; the function must not close links before it returns.
     */
    readonly serve: (
      accept: (link: Link, handshake: Handshake) => Effect.Effect<MessageHandler, AdmissionRejected, Scope.Scope>,
      onBacklogChange?: (link: Link) => void
    ) => Effect.Effect<{ readonly url: string }, ListenError, Scope.Scope>
  }
>()("a2c-smcp/application/ports/TransportServer") {}

/** Client and Server speak incompatible protocol versions. A retry cannot succeed. */
export class VersionRejected extends Data.TaggedError("VersionRejected")<{
  readonly message: string
  /** The Server's error; missing when it could not be decoded. */
  readonly mismatch: VersionMismatch | undefined
}> {}

/** The Server cannot be reached. */
export class Unreachable extends Data.TaggedError("Unreachable")<{
  readonly message: string
  /** A retry cannot succeed: the address or the certificate is invalid, or something else answers at the address. */
  readonly permanent?: boolean
  /** Present for causes that may end while a member reconnects. */
  readonly reason?: "untrusted_certificate" | "invalid_certificate" | "intermediary_response"
}> {}

export type ConnectError = VersionRejected | AdmissionRejected | Unreachable

/** A member's end of a transport. */
export class TransportClient extends Context.Service<
  TransportClient,
  {
    /** Opens a connection that lasts as long as the scope. It does not reconnect. */
    readonly connect: (options: {
      readonly version: string
      readonly auth: JsonObject
      /** The office that the member will join, if it is known. */
      readonly office?: string
      readonly onMessage: MessageHandler
    }) => Effect.Effect<Link, ConnectError, Scope.Scope>
  }
>()("a2c-smcp/application/ports/TransportClient") {}

type Connect = TransportClient["Service"]["connect"]

/** A transport whose members are the nodes of one cluster: it carries the messages between them. */
export class NodeTransport extends Context.Service<
  NodeTransport,
  {
    /** The name of this node, unique in the cluster and for every run. */
    readonly node: string
    /** Accepts the links of other nodes of the cluster, and no others. */
    readonly serve: TransportServer["Service"]["serve"]
    /** Opens a link to another node, or fails within a few seconds. */
    readonly connect: (node: string, options: Parameters<Connect>[0]) => ReturnType<Connect>
  }
>()("a2c-smcp/application/ports/NodeTransport") {}

/** The protocol lines that a Server serves; all of them by default. */
export const ServedLines = Context.Reference<Lines>("a2c-smcp/application/ports/ServedLines", {
  defaultValue: () => linesNamed()
})

/** The versions of lines, for the check of a handshake. */
export const versionsOf = ([first, ...others]: Lines): ServedVersions => [
  first.version,
  ...others.map(({ version }) => version)
]
