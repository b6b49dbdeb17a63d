import { type OfficeCaller, officeCaller } from "../../../domain/approvals/Caller.ts"

/** Tells the members of the offices of a Computer apart that join under one name. */
export interface Callers {
  /** The caller of a request that arrives now. `isProven` as for {@link officeCaller}. */
  readonly named: (name: string, isProven: boolean) => OfficeCaller
  /** The Agent has left, or may have left unnoticed: a later one of its name is another caller. */
  readonly forget: () => void
}

/** Makes the callers of a Computer. `onForget` ends what the Agent may do without a question. */
export const makeCallers = (onForget: () => void): Callers => {
  let membership = 1
  return {
    named: (name, isProven) => officeCaller(name, membership, isProven),
    forget: () => {
      membership += 1
      onForget()
    }
  }
}
