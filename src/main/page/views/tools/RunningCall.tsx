import { formatDuration } from "../../../../domain/text/format.ts"
import type { PageToolCall } from "../../connection/pageCalls.ts"
import type { Tool } from "../../../../domain/model/Tool.ts"
import { CallResult } from "../../parts/CallResult.tsx"
import { LongText, Name } from "../../parts/Text.tsx"
import { AppCard } from "../apps/AppCard.tsx"
import { CallApprovals } from "../inbox/CallApprovals.tsx"

interface RunningCallProps {
  readonly call: PageToolCall
  readonly tool: Tool
}

/** A call from its start to its result, with the approval that it waits for. */
export const RunningCall = ({ call: { request, state: call }, tool }: RunningCallProps) => {
  switch (call._tag) {
    case "Running":
      return (
        <>
          <div role="status">
            <p>
              Running. <Name of={call.as} length={1_000} />
            </p>
            {call.status !== "" && (
              <p>
                <Name of={call.status} length={1_000} />
              </p>
            )}
            {call.progress !== undefined && <progress value={call.progress} aria-label="progress of the call" />}
          </div>
          <CallApprovals isShown={({ approval }) => approval.id === call.approvalId} />
        </>
      )
    case "Failed":
      return (
        <div class="error" role="alert">
          <p>
            Failed after {formatDuration(call.took)}
            {call.error.code !== 0 && ` with code ${call.error.code}`}:
          </p>
          <LongText text={call.error.message} />
        </div>
      )
    case "Ended":
      return (
        <>
          <p class="note">Ended after {formatDuration(call.took)}</p>
          <CallResult result={call.result} />
          <AppCard target={request} tool={tool} params={request.params} result={call.result} />
        </>
      )
  }
}
