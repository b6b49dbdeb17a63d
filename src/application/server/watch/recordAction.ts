import { Effect } from "effect"
import type { JsonObject } from "../../../domain/json.ts"
import type { ProtocolError } from "../../../domain/model/ProtocolError.ts"
import type { Operator } from "../../shared/page/PageSource.ts"
import type { OperatorAction } from "../observability/auditing.ts"

/** Logs and audits what an operator does, whether it succeeds or not. */
export type RecordAction = ReturnType<typeof makeRecordAction>

export const makeRecordAction =
  (onAction: (action: OperatorAction) => void) =>
  <A, R>(
    command: OperatorAction["command"],
    { identity: { subject }, remoteAddress }: Operator,
    target: JsonObject,
    running: Effect.Effect<A, ProtocolError, R>
  ): Effect.Effect<A, ProtocolError, R> => {
    const record = (outcome: string) => {
      onAction({ command, subject, remoteAddress, target, outcome })
      return Effect.logInfo("operator command", { command, subject, outcome, ...target })
    }
    return running.pipe(
      Effect.tap(() => record("ok")),
      Effect.tapError(({ code }) => record(String(code)))
    )
  }
