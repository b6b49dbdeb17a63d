import { Duration, Effect, Result } from "effect"
import type { OfficeMember } from "../../member/OfficeMember.ts"
import { decodeHead, jsonBody } from "../../ports/Body.ts"
import type { CallReporter } from "../calls/Call.ts"

/** How long the Server may take to acknowledge that a call waits. A Server of another implementation does not. */
const announceTimeout = Duration.seconds(10)

/** Reports the statuses of calls to the Server, which forwards them to their Agents. */
export const makeOfficeReporter = (current: () => OfficeMember | undefined): CallReporter => ({
  report: (report) =>
    Effect.suspend(() => {
      const member = current()
      if (member === undefined) return Effect.void
      const { callStatus, encodeCallStatus } = member.line
      return Effect.ignore(member.notify(callStatus.event, jsonBody(encodeCallStatus(report))))
    }),
  announceWait: (report) =>
    Effect.suspend(() => {
      const member = current()
      if (member === undefined) return Effect.succeed(false)
      const { callStatus, encodeCallStatus } = member.line
      return member.request(callStatus.event, jsonBody(encodeCallStatus(report)), announceTimeout).pipe(
        Effect.map(([ack]) => {
          const decoded = ack && Result.getOrUndefined(decodeHead(ack, callStatus.waitAck.decode))
          return decoded !== undefined && decoded.waitSeconds > 0
        }),
        Effect.orElseSucceed(() => false)
      )
    })
})
