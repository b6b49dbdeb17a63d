import { Effect, Result } from "effect"
import type { Change } from "../../application/ports/OfficeRegistry.ts"
import type { Calls, Unread } from "./calls.ts"
import type { Heard, LocalOffices } from "./LocalOffices.ts"
import { readMessage, seatAt } from "./messages.ts"
import type { Trust } from "./Trust.ts"

/** What {@link newsFor} needs. */
export interface NewsOptions {
  readonly local: LocalOffices
  readonly trust: Trust
  readonly calls: Calls
  readonly tell: (change: Change) => void
  readonly run: (effect: Effect.Effect<void>) => void
}

/** What Redis tells a node of the offices, and what the node asks for where something is missing. */
export interface News {
  /** Takes a message of the node's channel. */
  readonly take: (text: string) => void
  /** Reads an office anew. Whoever asks while it is read waits for nobody: it is read once more. */
  readonly refresh: (office: string) => Effect.Effect<void, Unread>
}

export const newsFor = ({ calls, local, run, tell, trust }: NewsOptions): News => {
  const refreshing = new Map<string, { again: boolean }>()

  const heard = (office: string, what: Heard) => {
    if (what === "stray") trust.distrust()
    if (what === "missed" && !trust.isComparing) run(Effect.ignore(refresh(office)))
  }

  const refresh: News["refresh"] = (office) =>
    Effect.suspend(() => {
      const under = refreshing.get(office)
      if (under !== undefined) {
        under.again = true
        return Effect.void
      }
      const state = { again: false }
      refreshing.set(office, state)
      const read = Effect.map(calls.snapshot(office), ([known, asOf, revision, members]) => {
        // Our members are missing there because this node was taken for dead, and not because they have left.
        if (known === "gone") trust.distrust()
        else if (local.follows(office)) heard(office, local.replace(office, { asOf, revision, members }))
      })
      const again = Effect.suspend((): Effect.Effect<void, Unread> => {
        state.again = false
        return Effect.flatMap(read, () => (state.again ? again : Effect.void))
      })
      return trust.distrusting(again).pipe(Effect.ensuring(Effect.sync(() => refreshing.delete(office))))
    })

  const take = (text: string) => {
    const read = readMessage(text)
    if (Result.isFailure(read)) {
      run(Effect.logWarning("a message of the office registry cannot be read", read.failure))
      return
    }
    const message = read.success
    if ("gone" in message) return tell({ _tag: "NodeGone", node: message.gone })
    const { office, to } = message
    if ("all" in message) {
      // While the nodes come back what is there is not yet everything: those who are missing have not left.
      if (trust.isComparing && local.knows(office)) return
      heard(office, local.replace(office, { revision: to, asOf: to, members: message.all }))
      return
    }
    const { from } = message
    if ("entered" in message) {
      heard(office, local.step(office, { from, to, move: { _tag: "Entered", member: message.entered } }))
      return
    }
    const { field, replaced, sid } = message.left
    const move = { _tag: "Left", sid, seat: seatAt(office, field), replaced } as const
    heard(office, local.step(office, { from, to, move }))
  }

  return { take, refresh }
}
