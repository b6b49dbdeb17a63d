import { describeFailure, describeStatus, durationOf, phaseOf } from "../../../../domain/page/calls/callPhase.ts"
import { copyAsCommand } from "../../../../domain/page/calls/copyAsCommand.ts"
import { type JsonObject, parseJsonObject } from "../../../../domain/json.ts"
import { formatDuration } from "../../../../domain/text/format.ts"
import type { TrackedCall } from "../../../../domain/page/PageState.ts"
import { session } from "../../connection/store.ts"
import { useReplies } from "../../connection/useReplies.ts"
import { CommandButton } from "../../parts/CommandButton.tsx"
import { CopyButton } from "../../parts/CopyButton.tsx"
import { LongText, Name } from "../../parts/Text.tsx"
import { AppCard } from "../apps/AppCard.tsx"
import { useOfficeTools } from "../tools/useOfficeTools.ts"
import { formatDateTime } from "../../parts/time.ts"

/** The timeout of the calls of an app. */
const appTimeoutSeconds = 60

const Fact = ({ name, value }: { readonly name: string; readonly value: string | undefined }) =>
  value === undefined || value === "" ? null : (
    <>
      <dt>{name}</dt>
      <dd>
        <Name of={value} length={1_000} />
      </dd>
    </>
  )

interface CallAppProps {
  readonly call: TrackedCall["call"]
  /** Missing when the Server has captured a part only. */
  readonly params: JsonObject | undefined
  readonly result: JsonObject | undefined
}

/** The app of the tool that was called. */
const CallApp = ({ call: { computer, id, line, office, tool }, params, result }: CallAppProps) => {
  const found = useOfficeTools({ line, office }).tools.find(
    (one) => one.computer.name === computer && one.tool.name === tool
  )
  if (found === undefined || params === undefined || result === undefined) return null
  const target = { line, office, computer, timeout: appTimeoutSeconds }
  return <AppCard key={id} target={target} tool={found.tool} params={params} result={result} />
}

/** The details of a call, with its arguments and its result where the Server captures them. */
export const CallDetails = ({
  entry: { call, phases },
  now
}: {
  readonly entry: TrackedCall
  readonly now: number
}) => {
  const phase = phaseOf(call)
  const isRunning = call.endedAt === undefined
  const hasBodies = session.value?.hasBodies === true
  const wanted = { key: call.id, version: String(isRunning), command: { _tag: "GetCallBody", id: call.id } } as const
  const { error, reply } = useReplies<"GetCallBody">(hasBodies ? [wanted] : []).get(call.id) ?? {}
  const params = parseJsonObject(reply?.params)
  const command = call.tool === undefined ? undefined : copyAsCommand(call, params)
  return (
    <article>
      <h2>
        <Name of={call.tool ?? call.event} />
      </h2>
      <p>
        <span class={`phase phase-${phase}`}>{phase}</span>{" "}
        <Name of={isRunning ? describeStatus(call.status) : describeFailure(call.outcome)} length={1_000} />
      </p>
      {isRunning && (
        <p>
          <CommandButton
            label="Cancel call"
            description={`Cancel the call of ${call.tool ?? call.event}`}
            title="Cancel this call?"
            command={{ _tag: "CancelCall", id: call.id }}
          >
            <p>The Agent receives a cancelled result, and the Computer interrupts the tool.</p>
          </CommandButton>
        </p>
      )}
      <dl>
        <Fact name="Duration" value={formatDuration(durationOf(call, now))} />
        <Fact name="Started" value={formatDateTime(call.startedAt)} />
        <Fact name="Ended" value={call.endedAt === undefined ? undefined : formatDateTime(call.endedAt)} />
        <Fact
          name="Phases"
          // The only phase of a call is stated above.
          value={
            phases.length < 2
              ? undefined
              : phases
                  .map(({ at, phase: one }) => `${one} after ${formatDuration(Math.max(0, at - call.startedAt))}`)
                  .join(", ")
          }
        />
        <Fact name="Decision" value={describeStatus(call.decision)} />
        <Fact name="Computer" value={call.computer} />
        <Fact name="Agent" value={call.agent} />
        <Fact name="Subject" value={call.subject} />
        <Fact name="Event" value={call.event} />
        <Fact name="Request id" value={call.reqId} />
        <Fact name="Trace id" value={call.traceId} />
        <Fact name="Node" value={call.node} />
      </dl>
      {command !== undefined && (
        <>
          <h3>As a command</h3>
          <LongText text={command} code />
          <p>
            <CopyButton label="Copy the command" text={command} />
            {params === undefined && (
              <span class="note"> The arguments are missing: the Server does not capture them by default.</span>
            )}
          </p>
        </>
      )}
      {error !== undefined && (
        <p class="error">
          <Name of={error.message} length={1_000} /> ({error.code})
        </p>
      )}
      {reply !== undefined && (
        <>
          <h3>Arguments</h3>
          <LongText text={reply.params} code />
          <h3>Result</h3>
          <LongText text={reply.result} code />
          <CallApp call={call} params={params} result={parseJsonObject(reply.result)} />
        </>
      )}
    </article>
  )
}
