import { Cause, Data, Option } from "effect"
import type { AgentError } from "../../application/agent/AgentRequests.ts"
import type { AmbiguousTool } from "../../application/agent/findToolOwner.ts"
import type { AlreadyJoined } from "../../application/computer/office/OfficeConnection.ts"
import type { UnknownServer } from "../../application/computer/servers/ServerSupervisor.ts"
import type { JoinFailed } from "../../application/member/OfficeMember.ts"
import type { DocumentUnreadable } from "../../application/ports/DocumentReader.ts"
import type { ServerStartFailed } from "../layers/serverLayer.ts"
import type { JsonObject } from "../../domain/json.ts"
import { errorCodes } from "../../domain/model/ProtocolError.ts"

/** A configuration cannot be used; the message says what is wrong, and where. */
export class ConfigInvalid extends Data.TaggedError("ConfigInvalid")<{ readonly message: string }> {}

/** Everything that can be foreseen to go wrong. */
export type ExpectedError =
  | AgentError
  | AmbiguousTool
  | DocumentUnreadable
  | JoinFailed
  | ServerStartFailed
  | AlreadyJoined
  | UnknownServer
  | ConfigInvalid

type ErrorWithoutCode = Exclude<
  ExpectedError,
  { readonly _tag: "Refusal" | "AdmissionRejected" | "VersionRejected" }
>

/** What ours are called; the protocol's have numbers. */
const ownCodes = {
  Disconnected: "disconnected",
  Unanswered: "unanswered",
  BadReply: "bad_reply",
  OwnerUnclear: "owner_unclear",
  DocumentUnreadable: "document_unreadable",
  Unreachable: "unreachable",
  JoinRefused: "join_refused",
  ListenError: "listen_failed",
  RedisUrlInvalid: "redis_url_invalid",
  AlreadySeated: "already_seated",
  UnknownServer: "unknown_server",
  ConfigInvalid: "config_invalid"
} as const satisfies { readonly [Tag in ErrorWithoutCode["_tag"]]: string }

/**
 * What went wrong, for programs: a number is the protocol's own code, given by the Server or a Computer. `aborted`: by
 * your signal; `closed`: you closed what you asked; `internal`: a fault of this package or of a hook of yours.
 */
export type A2cErrorCode =
  | number
  | (typeof ownCodes)[ErrorWithoutCode["_tag"]]
  | "aborted"
  | "closed"
  | "internal"

/** Why a promise of this package was rejected. The message is for people. */
export class A2cError extends Error {
  readonly code: A2cErrorCode
  /** What the protocol says beside code and message, where it does. */
  readonly extra: JsonObject | undefined
  constructor(
    code: A2cErrorCode,
    message: string,
    details: { readonly cause?: unknown; readonly extra?: JsonObject | undefined } = {}
  ) {
    super(message, { cause: details.cause })
    this.name = "A2cError"
    this.code = code
    this.extra = details.extra
  }
}

const errorCodeOf = (error: ExpectedError): A2cErrorCode => {
  if (error._tag === "Refusal" || error._tag === "AdmissionRejected") return error.code
  return error._tag === "VersionRejected" ? errorCodes.versionMismatch : ownCodes[error._tag]
}

/** The work was stopped by the caller's signal. */
export const abortedError = ({ reason }: AbortSignal): A2cError =>
  new A2cError("aborted", "Aborted by its signal", { cause: reason })

/** Whoever was asked is closed. */
export const closedError = (): A2cError =>
  new A2cError("closed", "It was closed: nothing can be asked of it any more")

/** The one error a promise is rejected with. */
export const toA2cError = (
  cause: Cause.Cause<ExpectedError | A2cError>,
  signal: AbortSignal | undefined
): A2cError => {
  const expected = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (expected instanceof A2cError) return expected
  if (expected !== undefined) {
    const extra = expected._tag === "Refusal" ? expected.extra : undefined
    return new A2cError(errorCodeOf(expected), expected.message, { cause: expected, extra })
  }
  if (Cause.hasInterruptsOnly(cause)) return signal?.aborted === true ? abortedError(signal) : closedError()
  const defect = Cause.squash(cause)
  const message = defect instanceof Error ? defect.message : String(defect)
  return new A2cError("internal", message, { cause: defect })
}
