import { Context, Effect, HashMap, Layer, type Option, Ref, Result } from "effect"
import {
  type Command,
  computerAnywhere,
  computerIn,
  decide,
  type Event,
  evolve,
  membersOf,
  noOffices,
  type OfficeRefusal,
  type Offices,
  type Seat,
  type Session
} from "../../domain/office/membership.ts"
import type { Notice } from "../../domain/office/notice.ts"
import { computerNotFound, notInOffice } from "../../domain/refusal.ts"
import { Cancellation } from "./Cancellation.ts"
import { Connections } from "./Connections.ts"
import { EntryObservers } from "./EntryObservers.ts"
import { Notifications } from "./Notifications.ts"

/** A notice and the sessions that are to hear it. */
interface Telling {
  readonly notice: Notice
  readonly sid: string
  readonly recipients: ReadonlyArray<string>
}

interface Outcome {
  readonly state: Offices
  readonly tellings: ReadonlyArray<Telling>
}

const others = (state: Offices, office: string, sid: string): ReadonlyArray<string> =>
  membersOf(state, office).filter((member) => member !== sid)

const follow = ({ state, tellings }: Outcome, event: Event): Outcome => {
  const next = evolve(state, event)
  if (event._tag !== "Entered" && event._tag !== "Left") return { state: next, tellings }
  const { _tag, seat, sid } = event
  const telling: Telling = { notice: { _tag, seat }, sid, recipients: others(state, seat.office, sid) }
  return { state: next, tellings: [...tellings, telling] }
}

/** Who sits in which office. Every change is told to the office it concerns. */
export class Membership extends Context.Service<
  Membership,
  {
    /** Applies a command atomically: of any number of racing ones the rules see one after the other. */
    readonly apply: (command: Command) => Effect.Effect<void, OfficeRefusal>
    readonly session: (sid: string) => Option.Option<Session>
    /** The session of a Computer in an office. */
    readonly computerIn: (office: string, name: string) => Option.Option<string>
    /** Does a Computer of this name sit in any office? */
    readonly computerAnywhere: (name: string) => boolean
    /** Everybody in an office. */
    readonly list: (office: string) => ReadonlyArray<Session & { readonly place: Seat }>
    /** The session ids of everybody in an office but one. */
    readonly others: (office: string, sid: string) => ReadonlyArray<string>
    /** How many sessions and offices there are. */
    readonly size: () => { readonly sessions: number; readonly offices: number }
  }
>()("a2c-smcp/application/server/Membership") {
  static readonly layer = Layer.effect(
    Membership,
    Effect.gen(function* () {
      const notifications = yield* Notifications
      const cancellation = yield* Cancellation
      const connections = yield* Connections
      const observers = yield* EntryObservers
      const offices = yield* Ref.make(noOffices)
      const state = () => Ref.getUnsafe(offices)

      const announce = Effect.fnUntraced(function* ({ notice, recipients, sid }: Telling) {
        if (notice._tag === "Entered" || notice._tag === "Left") {
          const { _tag, seat } = notice
          const subject = connections.get(sid)?.identity?.subject
          for (const observe of observers) observe({ _tag, sid, seat, subject })
        }
        if (notice._tag === "Left") {
          const { name, role } = notice.seat
          yield* cancellation.end(sid, role === "agent" ? notInOffice() : computerNotFound(name))
        }
        yield* notifications.tell(recipients, notice)
      })

      const settle = (
        current: Offices,
        command: Command
      ): readonly [Result.Result<ReadonlyArray<Telling>, OfficeRefusal>, Offices] => {
        const decision = decide(current, command)
        if (Result.isFailure(decision)) return [Result.fail(decision.failure), current]
        const outcome = decision.success.reduce(follow, { state: current, tellings: [] })
        return [Result.succeed(outcome.tellings), outcome.state]
      }

      const apply = Effect.fnUntraced(function* (command: Command) {
        const tellings = yield* Ref.modify(offices, (current) => settle(current, command))
        yield* Effect.forEach(yield* Effect.fromResult(tellings), announce, { discard: true })
      }, Effect.uninterruptible)

      return Membership.of({
        apply,
        session: (sid) => HashMap.get(state().sessions, sid),
        computerIn: (office, name) => computerIn(state(), office, name),
        computerAnywhere: (name) => computerAnywhere(state(), name),
        list: (office) =>
          membersOf(state(), office).flatMap((sid) => {
            const session = HashMap.getUnsafe(state().sessions, sid)
            return session.seat._tag === "Some" ? [{ ...session, place: session.seat.value }] : []
          }),
        others: (office, sid) => others(state(), office, sid),
        size: () => ({
          sessions: HashMap.size(state().sessions),
          offices: HashMap.size(state().offices)
        })
      })
    })
  )
}
