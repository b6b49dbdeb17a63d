import { Result } from "effect"
import type { TargetRequest } from "../model/messages/requests.ts"
import type { Codec } from "../validation.ts"
import type { CallDefinition, RoutingInfo } from "./ProtocolLine.ts"

/** Defines a request to a Computer. */
export const defineCall = <Request extends TargetRequest, Reply>(definition: {
  readonly event: string
  readonly aliases?: ReadonlyArray<string>
  readonly request: Codec<Request>
  readonly reply: Codec<Reply>
  readonly timeoutSeconds?: (request: Request) => number
  /** Decodes the routing of valid requests without the schema; `undefined` falls back to the schema. */
  readonly decodeRoutingFast?: (head: unknown) => RoutingInfo | undefined
  readonly cancellable?: boolean
}): CallDefinition<Request, Reply> => {
  const { aliases = [], cancellable = false, decodeRoutingFast, event, reply, request, timeoutSeconds } = definition
  return {
    kind: "call",
    event,
    aliases,
    from: "agent",
    request,
    reply,
    decodeRouting: (head) => {
      const fast = decodeRoutingFast?.(head)
      if (fast !== undefined) return Result.succeed(fast)
      return Result.map(request.decode(head), (decoded) => ({
        agent: decoded.agent,
        computer: decoded.computer,
        reqId: decoded.reqId,
        timeoutSeconds: timeoutSeconds?.(decoded)
      }))
    },
    cancellable
  }
}
