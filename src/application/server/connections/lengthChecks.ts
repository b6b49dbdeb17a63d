import { Result } from "effect"
import { checkName } from "../../../domain/model/fields.ts"
import { badRequest, type ProtocolError } from "../../../domain/model/ProtocolError.ts"
import type { ServerContext } from "../lifecycle/ServerContext.ts"

/** Checks the texts that clients choose. Each function returns the request, or the error of a text that is too long. */
export interface LengthChecks {
  readonly checkMembership: <P extends { readonly name: string; readonly officeId: string }>(
    request: P
  ) => Result.Result<P, ProtocolError>
  readonly checkRequestId: <R extends { readonly reqId: string }>(request: R) => Result.Result<R, ProtocolError>
}

export const makeLengthChecks = ({
  limits: { nameLength, officeLength, requestIdLength },
  metrics
}: ServerContext): LengthChecks => ({
  checkMembership: (request) => {
    if (request.name.length > nameLength) metrics.limitExceeded("nameLength")
    if (request.officeId.length > officeLength) metrics.limitExceeded("officeLength")
    const problem =
      checkName("name", request.name, nameLength) ?? checkName("office_id", request.officeId, officeLength)
    return problem === undefined ? Result.succeed(request) : Result.fail(badRequest(problem))
  },
  checkRequestId: (request) => {
    if (request.reqId.length <= requestIdLength) return Result.succeed(request)
    metrics.limitExceeded("requestIdLength")
    return Result.fail(badRequest(`req_id must not be longer than ${requestIdLength} characters`))
  }
})
