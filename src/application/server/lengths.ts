import { Effect, Result } from "effect"
import { nameFault } from "../../domain/office/names.ts"
import { badRequest, type Refusal } from "../../domain/refusal.ts"
import { Limits } from "./Limits.ts"
import { Tally } from "./Tally.ts"

/** Checks the texts that members choose against the limits of a Server. */
export const makeLengths = Effect.gen(function* () {
  const { nameLength, officeLength, requestIdLength } = yield* Limits
  const tally = yield* Tally

  return {
    /** Passes the place that a member wants to take, or says what is wrong with it. */
    place: <P extends { readonly name: string; readonly officeId: string }>(
      place: P
    ): Result.Result<P, Refusal> => {
      if (place.name.length > nameLength) tally.refused("nameLength")
      if (place.officeId.length > officeLength) tally.refused("officeLength")
      const fault =
        nameFault("name", place.name, nameLength) ?? nameFault("office_id", place.officeId, officeLength)
      return fault === undefined ? Result.succeed(place) : Result.fail(badRequest(fault))
    },
    /** Passes a request with its id, or says that the id is too long. */
    request: <R extends { readonly reqId: string }>(request: R): Result.Result<R, Refusal> => {
      if (request.reqId.length <= requestIdLength) return Result.succeed(request)
      tally.refused("requestIdLength")
      return Result.fail(badRequest(`req_id must not be longer than ${requestIdLength} characters`))
    }
  }
})
