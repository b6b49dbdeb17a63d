import { Cause, Data, Option } from "effect"
import type { InvalidFunction } from "../adapters/functions/makeFunctions.ts"
import type { AgentError } from "../application/agent/AgentErrors.ts"
import type { BlobUnreadable, UploadFailed } from "../application/agent/blobs.ts"
import type { AmbiguousTool, UnknownTool } from "../application/agent/OfficeView.ts"
import type { TaskLost } from "../application/agent/tasks/toolTasks.ts"
import type { AlreadyJoined } from "../application/computer/office/OfficeConnection.ts"
import type { UnknownServer } from "../application/computer/servers/ServerSupervisor.ts"
import type { JoinFailed } from "../application/member/OfficeMember.ts"
import type { DocumentUnreadable } from "../application/ports/files/DocumentReader.ts"
import type { McpSessionError } from "../application/ports/McpSession.ts"
import type { ServerStartFailed } from "./layers/serverLayer.ts"
import { errorMessage } from "../domain/errorMessage.ts"
import type { JsonObject } from "../domain/json.ts"
import { errorCodes } from "../domain/model/ProtocolError.ts"
import { definedOnly } from "../domain/objects.ts"

/** An invalid configuration; the message states what is wrong, and where. */
export class ConfigInvalid extends Data.TaggedError("ConfigInvalid")<{ readonly message: string }> {}

/** The errors of the services, as opposed to defects. */
export type ExpectedError =
  | AgentError
  | AmbiguousTool
  | UnknownTool
  | BlobUnreadable
  | UploadFailed
  | DocumentUnreadable
  | McpSessionError
  | TaskLost
  | JoinFailed
  | ServerStartFailed
  | AlreadyJoined
  | UnknownServer
  | ConfigInvalid
  | InvalidFunction

type ErrorWithoutCode = Exclude<
  ExpectedError,
  { readonly _tag: "ProtocolError" | "AdmissionRejected" | "VersionRejected" }
>

/** Codes of errors outside the protocol; errors of the protocol have numbers. */
export const ownCodes = {
  Disconnected: "disconnected",
  ServerTimeout: "server_timeout",
  BadReply: "bad_reply",
  AmbiguousTool: "ambiguous_tool",
  UnknownTool: "unknown_tool",
  BlobUnreadable: "blob_unreadable",
  UploadFailed: "upload_failed",
  DocumentUnreadable: "document_unreadable",
  McpSessionError: "mcp_error",
  TaskLost: "task_lost",
  Unreachable: "unreachable",
  JoinRejected: "join_rejected",
  ListenError: "listen_failed",
  RedisUrlInvalid: "redis_url_invalid",
  AlreadyJoined: "already_joined",
  UnknownServer: "unknown_server",
  ConfigInvalid: "config_invalid",
  InvalidFunction: "config_invalid"
} as const satisfies { readonly [Tag in ErrorWithoutCode["_tag"]]: string }

/**
 * The reason of a rejection, for programs. A number is a code of the protocol, sent by the Server or a Computer.
 * `aborted`: your signal was aborted; `closed`: you closed the instance; `internal`: a defect, here or in one of your hooks.
 */
export type A2cErrorCode = number | (typeof ownCodes)[ErrorWithoutCode["_tag"]] | "aborted" | "closed" | "internal"

/** The rejection of every promise of this package. The message is for people. */
export class A2cError extends Error {
  readonly code: A2cErrorCode
  /**
   * Additional fields of an error of the protocol; `code` and `data` of the error of an MCP server; the `owners` of an
   * `ambiguous_tool`, which are names of Computers.
   */
  readonly extra: (JsonObject & { readonly owners?: ReadonlyArray<string> }) | undefined
  constructor(
    code: A2cErrorCode,
    message: string,
    details: { readonly cause?: unknown; readonly extra?: A2cError["extra"] } = {}
  ) {
    super(message, { cause: details.cause })
    this.name = "A2cError"
    this.code = code
    this.extra = details.extra
  }
}

const errorCodeOf = (error: ExpectedError): A2cErrorCode => {
  if (error._tag === "ProtocolError" || error._tag === "AdmissionRejected") return error.code
  return error._tag === "VersionRejected" ? errorCodes.versionMismatch : ownCodes[error._tag]
}

const extraOf = (error: ExpectedError): A2cError["extra"] => {
  if (error._tag === "AmbiguousTool") return { owners: error.owners }
  if (error._tag === "McpSessionError") return definedOnly({ code: error.code, data: error.data })
  return error._tag === "ProtocolError" ? error.extra : undefined
}

export const abortedError = ({ reason }: AbortSignal): A2cError =>
  new A2cError("aborted", "Aborted by the signal", { cause: reason })

export const closedError = (): A2cError => new A2cError("closed", "The instance is closed")

/** Converts the cause of a failed effect to the error that its promise rejects with. */
export const toA2cError = (cause: Cause.Cause<ExpectedError | A2cError>, signal: AbortSignal | undefined): A2cError => {
  const expected = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (expected instanceof A2cError) return expected
  if (expected !== undefined) {
    const extra = extraOf(expected)
    return new A2cError(errorCodeOf(expected), expected.message, { cause: expected, extra })
  }
  if (Cause.hasInterruptsOnly(cause)) return signal?.aborted === true ? abortedError(signal) : closedError()
  const defect = Cause.squash(cause)
  return new A2cError("internal", errorMessage(defect), { cause: defect })
}
