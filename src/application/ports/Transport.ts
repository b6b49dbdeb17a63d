import { Context, Data, type Duration, Effect, type Exit, type Scope } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import type { Version, VersionMismatch } from "../../domain/wire/version.ts"
import type { ProtocolError } from "../../domain/model/ProtocolError.ts"
import type { Body } from "./Body.ts"

/** The values of an acknowledgement, in order. An empty one acknowledges and says nothing. */
export type Reply = ReadonlyArray<Body>

/** The link is gone: closed by either end, or lost. Nothing can be said whether a message arrived. */
export class LinkClosed extends Data.TaggedError("LinkClosed")<{ readonly reason: string }> {
  override get message(): string {
    return `Connection closed: ${this.reason}`
  }
}

/** The far end did not acknowledge within the deadline. */
export class RequestTimeout extends Data.TaggedError("RequestTimeout")<{
  readonly timeout: Duration.Duration
}> {}

/** The message was not sent: it is too large or cannot be written. The link lives. */
export class SendFailed extends Data.TaggedError("SendFailed")<{ readonly error: ProtocolError }> {}

/** How an ask ended. */
export type ReplyExit = Exit.Exit<Reply, LinkClosed | RequestTimeout | SendFailed>

/**
 * One end of a connection between a member and the Server. Both ends can ask and tell; messages of one link arrive
 * in the order in which they were sent, and every ask ends exactly once.
 */
export interface Link {
  /** Unique among the links of this transport. */
  readonly id: string
  /**
   * Sends a message and waits for its acknowledgement. Ends with {@link LinkClosed} at once when the link closes.
   * Interrupting it forgets the answer; the far end is not told.
   */
  readonly request: (
    event: string,
    body: Body,
    timeout: Duration.Duration
  ) => Effect.Effect<Reply, LinkClosed | RequestTimeout | SendFailed>
  /**
   * The same for whoever relays many: `end` is called exactly once, never before this returns, unless the function
   * that it returns is called first, which forgets the answer.
   */
  readonly startRequest: (
    event: string,
    body: Body,
    timeout: Duration.Duration,
    onReply: (exit: ReplyExit) => void
  ) => () => void
  /** Sends a message that nobody acknowledges. Sent is not yet arrived. */
  readonly notify: (event: string, body: Body) => Effect.Effect<void, LinkClosed | SendFailed>
  /** Largest body the far end takes, in bytes of its JSON text. */
  readonly maxBytes: () => number
  /** True when the far end takes a message with this body. */
  readonly fits: (body: Body) => boolean
  /** Bytes on their way to the far end that it has not taken yet, as far as this end can know. */
  readonly backlog: () => number
  /** Takes nothing from the far end for some milliseconds, where that can be: what holds back a flood. */
  readonly pauseReading: (millis: number) => void
  /** Waits until the link is closed and says why. */
  readonly closed: Effect.Effect<string>
  /** Closes the link; whatever waits at either end is over. */
  readonly close: (reason: string) => Effect.Effect<void>
}

/** {@link Link.request} by {@link Link.startRequest}. */
export const requestUsing =
  (startRequest: Link["startRequest"]): Link["request"] =>
  (event, body, timeout) =>
    Effect.callback((resume) => {
      const cancel = startRequest(event, body, timeout, resume)
      return Effect.sync(cancel)
    })

/**
 * What an end does with a message: the effect gives the acknowledgement, and never fails. It is interrupted when the
 * link closes. When the sender asked for no acknowledgement the answer goes nowhere.
 */
export type MessageHandler = (event: string, body: Body) => Effect.Effect<Reply>

/** What a connecting member brought along, after the version gate. */
export interface Handshake {
  readonly version: Version
  /** The `auth` value of the connection, not yet looked at. */
  readonly auth: unknown
  /** Headers of the request that opened the connection, names in lower case. */
  readonly headers: { readonly [name: string]: string | ReadonlyArray<string> | undefined }
  /** Where the connection comes from: an address without the port, or a word for what has none. */
  readonly remoteAddress: string
}

/** The Server does not let this connection in; `code` is one of the protocol's. */
export class AdmissionRejected extends Data.TaggedError("AdmissionRejected")<{
  readonly code: number
  readonly message: string
  /** Why, for programs, as far as it is known: the words are {@link AdmissionReason}'s, newer Servers may have more. */
  readonly reason?: string
  /** Trying again may help: what is in the way goes by itself, or every attempt brings something new. */
  readonly retryable?: boolean
}> {}

/** Why somebody is not let in, in words that programs can tell apart. */
export type AdmissionReason =
  | "missing_credentials"
  | "invalid_credentials"
  | "expired_credentials"
  | "role_not_granted"
  /** What is needed to judge the credentials cannot be reached right now. */
  | "unavailable"

/** The address cannot be listened on. */
export class ListenError extends Data.TaggedError("ListenError")<{ readonly message: string }> {}

/** The Server's end of a transport. */
export class TransportServer extends Context.Service<
  TransportServer,
  {
    /**
     * Accepts connections until the scope closes. For each one that passes the version gate `accept` decides in the
     * scope of that connection, which closes right after the link has.
     */
    readonly serve: (
      accept: (
        link: Link,
        handshake: Handshake
      ) => Effect.Effect<MessageHandler, AdmissionRejected, Scope.Scope>
    ) => Effect.Effect<{ readonly url: string }, ListenError, Scope.Scope>
  }
>()("a2c-smcp/application/ports/TransportServer") {}

/** Client and Server speak different protocol lines. Only another version of one of them helps. */
export class VersionRejected extends Data.TaggedError("VersionRejected")<{
  readonly message: string
  /** What the Server said; missing where its answer could not be read. */
  readonly mismatch: VersionMismatch | undefined
}> {}

/** The Server cannot be reached right now. */
export class Unreachable extends Data.TaggedError("Unreachable")<{
  readonly message: string
  /** Trying again would not help: what was given as its address is none. */
  readonly permanent?: boolean
}> {}

export type ConnectError = VersionRejected | AdmissionRejected | Unreachable

/** A member's end of a transport. */
export class TransportClient extends Context.Service<
  TransportClient,
  {
    /** Opens one connection, which lives as long as the scope. It never reconnects by itself. */
    readonly connect: (options: {
      readonly version: string
      readonly auth: JsonObject
      readonly onMessage: MessageHandler
    }) => Effect.Effect<Link, ConnectError, Scope.Scope>
  }
>()("a2c-smcp/application/ports/TransportClient") {}
