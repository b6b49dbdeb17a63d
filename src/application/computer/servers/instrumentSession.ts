import { Effect } from "effect"
import { definedOnly } from "../../../domain/definedOnly.ts"
import { McpSessionError, type McpProgress, type McpSession } from "../../ports/McpSession.ts"
import type { Secrets } from "../inputs/Secrets.ts"
import { type CallActivity, trackCall } from "./keepalive.ts"

/** Wraps a session: redacts secrets in its messages and records its calls. */
export const instrumentSession = (session: McpSession, { redact }: Secrets, activity: CallActivity): McpSession => {
  const redactFailure = (failure: McpSessionError) =>
    new McpSessionError({ ...failure, message: redact(failure.message) })
  const redacted = <A, R>(effect: Effect.Effect<A, McpSessionError, R>) => Effect.mapError(effect, redactFailure)
  return {
    ...session,
    listTools: (cursor) => redacted(session.listTools(cursor)),
    listResources: (cursor) => redacted(session.listResources(cursor)),
    readResource: (uri) => redacted(session.readResource(uri)),
    callTool: (name, args, { onProgress } = {}) => {
      const redactedProgress =
        onProgress &&
        (({ message, ...step }: McpProgress) =>
          onProgress({ ...step, ...(message !== undefined && { message: redact(message) }) }))
      return redacted(trackCall(activity, session.callTool(name, args, definedOnly({ onProgress: redactedProgress }))))
    },
    watch: (wanted) => redacted(session.watch(wanted)),
    ping: redacted(session.ping),
    ...(session.degraded !== undefined && { degraded: Effect.map(session.degraded, redact) }),
    closed: Effect.map(session.closed, redactFailure)
  }
}
