import { Duration, Effect, Schedule } from "effect"
import type { Membership } from "../../domain/model/Membership.ts"
import type { CurrentMember } from "../../domain/office/membershipConflict.ts"
import { definedOnly } from "../../domain/objects.ts"
import type { Backoff } from "../../domain/time/backoff.ts"
import { backoffSchedule } from "../shared/backoff.ts"
import { startCountdown } from "../shared/startCountdown.ts"

const waitBackoff: Backoff = { initial: Duration.millis(500), max: Duration.seconds(2) }

/** The wait of a member for its place, from now on for at most `wait`. Its last attempt is at the end of the time. */
export const makePlaceWait = Effect.fnUntraced(function* ({ name, office, role }: Membership, wait: Duration.Duration) {
  const remaining = yield* startCountdown(wait)
  let isLogged = false
  return {
    /** True while a member waits for this current member of its place. Logs the first time. */
    continues: Effect.fnUntraced(function* (current: CurrentMember | undefined) {
      if (current === undefined || Duration.isZero(yield* remaining)) return false
      if (isLogged) return true
      isLogged = true
      const { joinedAt, name: currentName } = current
      const since = joinedAt === undefined ? undefined : new Date(joinedAt).toISOString()
      const timeout = Duration.isFinite(wait) ? Duration.format(wait) : "none"
      const fields = definedOnly({ office, [role]: role === "agent" ? currentName : name, since, timeout })
      yield* Effect.logWarning("waiting until the place is free", fields)
      return true
    }),
    schedule: Schedule.modifyDelay(backoffSchedule(waitBackoff), ({ duration }) =>
      Effect.map(remaining, (left) => Duration.min(duration, left))
    )
  }
})
