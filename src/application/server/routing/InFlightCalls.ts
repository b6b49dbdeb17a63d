import { Context, Layer } from "effect"
import type { ProtocolError } from "../../../domain/model/ProtocolError.ts"

/** A call under way between two sessions. */
export interface InFlightCall {
  /** The office in which it was begun: whoever comes from another one brings no calls along. */
  readonly office: string
  /** Ends the call before its answer has come; nothing when it has ended already. */
  readonly abort: (reason: ProtocolError) => void
}

/** Calls under way by session. */
export interface CallsBySession {
  readonly add: (sid: string, call: InFlightCall) => void
  readonly remove: (sid: string, call: InFlightCall) => void
  /** How many of a session are under way. */
  readonly count: (sid: string) => number
  /** Those of a session in an office that are under way now. */
  readonly inOffice: (sid: string, office: string) => ReadonlyArray<InFlightCall>
}

/** Keeps nothing for sessions without calls: nobody may ever tell that one of another node has left. */
export const makeCallsBySession = (): CallsBySession => {
  const callsBySession = new Map<string, Set<InFlightCall>>()
  return {
    add: (sid, call) => {
      const own = callsBySession.get(sid)
      if (own === undefined) callsBySession.set(sid, new Set([call]))
      else own.add(call)
    },
    remove: (sid, call) => {
      const own = callsBySession.get(sid)
      if (own?.delete(call) === true && own.size === 0) callsBySession.delete(sid)
    },
    count: (sid) => callsBySession.get(sid)?.size ?? 0,
    inOffice: (sid, office) => [...(callsBySession.get(sid) ?? [])].filter((call) => call.office === office)
  }
}

/** Calls of this node's Agents under way, so that they end when one of their sides leaves. */
export class InFlightCalls extends Context.Service<
  InFlightCalls,
  {
    /** A call has begun. It counts for both sides until {@link landed}. */
    readonly add: (agent: string, computer: string, call: InFlightCall) => void
    readonly remove: (agent: string, computer: string, call: InFlightCall) => void
    /** The calls of a session in an office that are under way now, to it or from it. */
    readonly inOffice: (sid: string, office: string) => ReadonlyArray<InFlightCall>
    /** How many calls of a session are under way, to it or from it. */
    readonly count: (sid: string) => number
    /** How many calls are under way. */
    readonly size: () => number
  }
>()("a2c-smcp/application/server/Cancellation") {
  static readonly layer = Layer.sync(InFlightCalls, () => {
    const calls = makeCallsBySession()
    let total = 0
    return InFlightCalls.of({
      add: (agent, computer, call) => {
        total += 1
        calls.add(agent, call)
        calls.add(computer, call)
      },
      remove: (agent, computer, call) => {
        total -= 1
        calls.remove(agent, call)
        calls.remove(computer, call)
      },
      inOffice: calls.inOffice,
      count: calls.count,
      size: () => total
    })
  })
}
