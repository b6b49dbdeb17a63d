import { Effect, Option, Result } from "effect"
import { checkName } from "../../../domain/model/names.ts"
import { type MembershipError, publicMembership, type Role } from "../../../domain/model/Membership.ts"
import {
  badRequest,
  errorCodes,
  forbidden,
  notInOffice,
  type ProtocolError
} from "../../../domain/model/ProtocolError.ts"
import type { EventDefinition } from "../../../domain/wire/ProtocolLine.ts"
import { type Body, jsonBody } from "../../ports/Body.ts"
import type { Reply } from "../../ports/Transport.ts"
import type { Connection } from "../connections/Connections.ts"
import { Limits } from "../Limits.ts"
import { ServerMetrics } from "../observability/ServerMetrics.ts"
import type { ObservedEvent } from "../observability/observers.ts"
import type { RequestId } from "../../../domain/model/ids.ts"

/** One message of a client; `definition` is missing when its protocol line does not know the event. */
export interface ClientRequest {
  readonly connection: Connection
  readonly event: string
  readonly definition: EventDefinition | undefined
  readonly body: Body
}

/** Handles a request and gives its acknowledgement. It never fails. */
export type RequestHandler = (request: ClientRequest) => Effect.Effect<Reply>

export const emptyReply: Reply = []

export const jsonReply = (...values: ReadonlyArray<unknown>): Reply => values.map(jsonBody)

/** True for events without a reply, not even an error. */
export const isNotification = (definition: EventDefinition | undefined): boolean =>
  definition?.kind === "update" || definition?.kind === "cancel" || definition?.kind === "callStatus"

/** The error reply to a request, in the shape that its event defines. */
export const errorReply = ({ connection: { line }, definition }: ClientRequest, error: ProtocolError): Reply => {
  if (definition?.kind === "join" || definition?.kind === "leave")
    return jsonReply(...line.encodeMembershipAck(Result.fail(error)))
  return isNotification(definition) ? emptyReply : jsonReply(line.encodeProtocolError(error))
}

/** Reports a rejected request to the observers. */
export const observeRejection = (
  observers: ReadonlyArray<(event: ObservedEvent) => void>,
  { connection: { identity, link, registration }, definition, event }: ClientRequest,
  error: ProtocolError | MembershipError
): void => {
  const { message: reason } = error
  const { subject } = identity
  // Beside joins, only a leave fails with a membership error: of another office.
  const code = error._tag === "ProtocolError" ? error.code : errorCodes.notInOffice
  const membership = Option.getOrUndefined(Option.map(registration.session.membership, publicMembership))
  const rejection: ObservedEvent =
    definition?.kind === "join"
      ? { _tag: "JoinRejected", sid: link.id, subject, reason }
      : { _tag: "RequestRejected", sid: link.id, subject, membership, event, code, reason }
  for (const observe of observers) observe(rejection)
}

/** The membership of a client that must have this role, or the error of its request. */
export const requireMembership = ({ operates, registration: { session } }: Connection, role: Role) => {
  if (Option.isSome(session.role) && session.role.value !== role)
    return Result.fail(forbidden(`Only ${role}s may send this`))
  return operates === undefined ? Result.fromOption(session.membership, notInOffice) : Result.succeed(operates)
}

/** As {@link requireMembership}, for messages that other members receive: they must name their sender. */
export const requireSender = (connection: Connection, role: Role, name: string) =>
  Result.filterOrFail(
    requireMembership(connection, role),
    (membership) => membership.name === name,
    () => forbidden(`${role} must be your own name, not ${JSON.stringify(name)}`)
  )

/** Checks the texts that clients choose. Each function returns the request, or the error of a text that is too long. */
export const makeLengthChecks = Effect.gen(function* () {
  const { nameLength, officeLength, requestIdLength } = yield* Limits
  const metrics = yield* ServerMetrics
  return {
    checkMembership: <P extends { readonly name: string; readonly officeId: string }>(request: P) => {
      if (request.name.length > nameLength) metrics.limitExceeded("nameLength")
      if (request.officeId.length > officeLength) metrics.limitExceeded("officeLength")
      const problem =
        checkName("name", request.name, nameLength) ?? checkName("office_id", request.officeId, officeLength)
      return problem === undefined ? Result.succeed(request) : Result.fail(badRequest(problem))
    },
    checkRequestId: <R extends { readonly reqId: RequestId }>(request: R): Result.Result<R, ProtocolError> => {
      if (request.reqId.length <= requestIdLength) return Result.succeed(request)
      metrics.limitExceeded("requestIdLength")
      return Result.fail(badRequest(`req_id must not be longer than ${requestIdLength} characters`))
    }
  }
})
