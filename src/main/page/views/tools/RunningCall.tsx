import { formatDuration } from "../../../../domain/text/format.ts"
import { describeStatus } from "../../../../domain/page/calls/callPhase.ts"
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
export const RunningCall = ({ call: { end, request, started, status }, tool }: RunningCallProps) => {
  if (end === undefined) {
    const { progress, total = 0 } = status?._tag === "Progressing" ? status : { progress: 0 }
    const approval = status?._tag === "WaitingForConsent" ? status.approval : undefined
    return (
      <>
        <div role="status">
          <p>
            Running.{" "}
            {started && (
              <>
                The call runs {started.as === "agent" ? "as the Agent" : "beside the Agent of the office, as"}{" "}
                <Name of={started.name} length={1_000} />
                {started.as === "agent" && " of the office"}.
              </>
            )}
          </p>
          {status && (
            <p>
              <Name of={describeStatus(status)} length={1_000} />
            </p>
          )}
          {total > 0 && <progress value={progress / total} aria-label="progress of the call" />}
        </div>
        <CallApprovals isShown={(one) => one.approval.id === approval?.id} />
      </>
    )
  }
  if (end._tag === "Failed")
    return (
      <div class="error" role="alert">
        <p>
          Failed after {formatDuration(end.took)}
          {end.error.code !== 0 && ` with code ${end.error.code}`}:
        </p>
        <LongText text={end.error.message} />
      </div>
    )
  return (
    <>
      <p class="note">Ended after {formatDuration(end.took)}</p>
      <CallResult result={end.result} />
      <AppCard target={request} tool={tool} params={request.params} result={end.result} />
    </>
  )
}
