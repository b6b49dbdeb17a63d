import { describeFailure, describeStatus, durationOf, phaseOf } from "../../../../domain/page/calls/callPhase.ts"
import { copyAsCommand } from "../../../../domain/page/calls/copyAsCommand.ts"
import { type JsonObject, parseJsonObject } from "../../../../domain/json.ts"
import { formatDuration } from "../../../../domain/text/format.ts"
import type { TrackedCall } from "../../../../domain/page/PageState.ts"
import { session } from "../../connection/store.ts"
import { useReplies } from "../../connection/useReplies.ts"
import { CommandButton } from "../../parts/CommandButton.tsx"
import { CopyButton } from "../../parts/controls.tsx"
import { ErrorText } from "../../parts/missing.tsx"
import { Facts } from "../../parts/Table.tsx"
import { LongText, Name } from "../../parts/Text.tsx"
import { AppCard } from "../apps/AppCard.tsx"
import { useOfficeTools } from "../tools/useOfficeTools.ts"
import { formatDateTime } from "../../parts/time.ts"

/** The timeout of the calls of an app. */
const appTimeoutSeconds = 60

/** The facts of a call. Its only phase stands above them. */
const factsOf = ({ call, phases }: TrackedCall, now: number) =>
  [
    ["Duration", formatDuration(durationOf(call, now))],
    ["Started", formatDateTime(call.startedAt)],
    ["Ended", call.endedAt === undefined ? undefined : formatDateTime(call.endedAt)],
    [
      "Phases",
      (phases.length < 2 ? [] : phases)
        .map(({ at, phase }) => `${phase} after ${formatDuration(Math.max(0, at - call.startedAt))}`)
        .join(", ")
    ],
    ["Decision", describeStatus(call.decision)],
    ["Computer", call.computer],
    ["Agent", call.agent],
    ["Subject", call.subject],
    ["Event", call.event],
    ["Request id", call.reqId],
    ["Trace id", call.traceId],
    ["Node", call.node]
  ].map(([name = "", text]) => [name, text && <Name of={text} length={1_000} />] as const)

const CancelButton = ({ id, name }: { readonly id: string; readonly name: string }) => (
  <p>
    <CommandButton
      label="Cancel call"
      description={`Cancel the call of ${name}`}
      title="Cancel this call?"
      command={{ _tag: "CancelCall", id }}
    >
      <p>The Agent receives a cancelled result, and the Computer interrupts the tool.</p>
    </CommandButton>
  </p>
)

const AsCommand = ({ call, params }: Pick<CallAppProps, "call" | "params">) => {
  if (call.tool === undefined) return null
  const command = copyAsCommand({ ...call, tool: call.tool }, params)
  return (
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
  )
}

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
export const CallDetails = ({ entry, now }: { readonly entry: TrackedCall; readonly now: number }) => {
  const { call } = entry
  const phase = phaseOf(call)
  const isRunning = call.endedAt === undefined
  const hasBodies = session.value?.hasBodies === true
  const wanted = { key: call.id, version: String(isRunning), command: { _tag: "GetCallBody", id: call.id } } as const
  const { error, reply } = useReplies<"GetCallBody">(hasBodies ? [wanted] : []).get(call.id) ?? {}
  const params = parseJsonObject(reply?.params)
  return (
    <article>
      <h2>
        <Name of={call.tool ?? call.event} />
      </h2>
      <p>
        <span class={`phase phase-${phase}`}>{phase}</span>{" "}
        <Name of={isRunning ? describeStatus(call.status) : describeFailure(call.outcome)} length={1_000} />
      </p>
      {isRunning && <CancelButton id={call.id} name={call.tool ?? call.event} />}
      <Facts facts={factsOf(entry, now)} />
      <AsCommand call={call} params={params} />
      {error !== undefined && <ErrorText error={error} />}
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
