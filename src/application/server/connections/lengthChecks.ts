import { Effect, Result } from "effect"
import { checkName } from "../../../domain/model/names.ts"
import { badRequest, type ProtocolError } from "../../../domain/model/ProtocolError.ts"
import { Limits } from "./Limits.ts"
import { ServerMetrics } from "../observability/ServerMetrics.ts"

/** Checks the texts that members choose against the limits of a Server. */
export const makeLengthChecks = Effect.gen(function* () {
  const { nameLength, officeLength, requestIdLength } = yield* Limits
  const metrics = yield* ServerMetrics

  return {
    /** Passes the place that a member wants to take, or says what is wrong with it. */
    checkMembership: <P extends { readonly name: string; readonly officeId: string }>(
      request: P
    ): Result.Result<P, ProtocolError> => {
      if (request.name.length > nameLength) metrics.limitExceeded("nameLength")
      if (request.officeId.length > officeLength) metrics.limitExceeded("officeLength")
      const problem =
        checkName("name", request.name, nameLength) ?? checkName("office_id", request.officeId, officeLength)
      return problem === undefined ? Result.succeed(request) : Result.fail(badRequest(problem))
    },
    /** Passes a request with its id, or says that the id is too long. */
    checkRequestId: <R extends { readonly reqId: string }>(request: R): Result.Result<R, ProtocolError> => {
      if (request.reqId.length <= requestIdLength) return Result.succeed(request)
      metrics.limitExceeded("requestIdLength")
      return Result.fail(badRequest(`req_id must not be longer than ${requestIdLength} characters`))
    }
  }
})
