import { type OfficeCaller, officeCaller } from "../../../domain/approvals/Caller.ts"

/** Tells the members of the offices of a Computer apart that join under one name. */
export interface Callers {
  /** The caller of a request that arrives now. `isProven` as for {@link officeCaller}. */
  readonly named: (name: string, isProven: boolean) => OfficeCaller
  /** The Agent has left: a later one of its name is another caller. The Server proves who an operator is. */
  readonly forgetAgent: () => void
  /** Members may have left unnoticed. */
  readonly forgetAll: () => void
}

/** Makes the callers of a Computer. `onForget` ends what the Agent may do without a question. */
export const makeCallers = (onForget: () => void): Callers => {
  const membership = { Agent: 1, Operator: 1 }
  const forget = (...kinds: ReadonlyArray<OfficeCaller["_tag"]>): void => {
    for (const kind of kinds) membership[kind] += 1
    onForget()
  }
  return {
    named: (name, isProven) => {
      const caller = officeCaller(name, membership.Agent, isProven)
      return { ...caller, membership: membership[caller._tag] }
    },
    forgetAgent: () => forget("Agent"),
    forgetAll: () => forget("Agent", "Operator")
  }
}
