import { useMemo, useState } from "preact/hooks"
import { parseCallFilter } from "../../../../domain/page/calls/callFilter.ts"
import {
  type CallPhase,
  describeFailure,
  describeStatus,
  durationOf,
  phaseOf,
  copyAsCommand
} from "../../../../domain/page/calls/callPhase.ts"
import { callsOfOffice, latencyOf } from "../../../../domain/page/calls/officeCalls.ts"
import { formatDuration, formatNumberOf } from "../../../../domain/text/format.ts"
import { findPageOffice } from "../../../../domain/page/offices.ts"
import type { PageCall } from "../../../../domain/page/PageEvent.ts"
import type { PageState, TrackedCall } from "../../../../domain/page/PageState.ts"
import type { OfficeRoute } from "../../../../domain/page/route.ts"
import {
  connectionWords,
  memberCommand,
  pageState,
  replaceParameters,
  serverNow,
  session,
  useServerTime
} from "../../connection/store.ts"
import { Empty, ErrorText } from "../../parts/missing.tsx"
import { LongText, Name, formatClock, formatDateTime } from "../../parts/Text.tsx"
import { visibleLine } from "../../parts/visibleText.ts"
import { ListWithDetails } from "../../parts/VirtualList.tsx"
import { CallTimeline, dotOf } from "./CallTimeline.tsx"
import { type JsonObject, parseJsonObject } from "../../../../domain/json.ts"
import { useReplies } from "../../connection/api.ts"
import { CommandButton } from "../../parts/CommandButton.tsx"
import { CopyButton } from "../../parts/controls.tsx"
import { Facts } from "../../parts/Table.tsx"
import { AppCard } from "../apps/AppCard.tsx"
import { CallResult } from "../../parts/CallResult.tsx"
import { findListedTool, useOfficeTools } from "../tools/officeTools.ts"

/** How often running bars grow, in milliseconds. */
const tick = 250

const Phase = ({ of }: { readonly of: CallPhase }) => (
  <span class={`dot phase phase-${of}`} style={dotOf(of)}>
    {of}
  </span>
)

export const CallRow = ({ call, now }: { readonly call: PageCall; readonly now: number }) => (
  <>
    <Phase of={phaseOf(call)} />
    <span class="grow">
      <Name of={call.tool ?? call.event} length={80} />{" "}
      <span class="note">
        <Name of={call.computer} length={40} />
      </span>
    </span>
    <span>{formatDuration(durationOf(call, now))}</span>
    <span class="note clock">{formatClock(call.startedAt)}</span>
  </>
)

/** The calls of an office: timeline, list, filter and details. */
export const CallsView = ({ address, parameters }: OfficeRoute) => {
  const [paused, setPaused] = useState<{ readonly state: PageState; readonly now: number }>()
  const current = useServerTime(tick)
  const state = paused?.state ?? pageState.value
  const now = paused?.now ?? Math.max(current, state.at)
  const text = parameters["filter"] ?? ""
  const filter = useMemo(() => parseCallFilter(text), [text])
  const hasHousekeeping = parameters["all"] === "1"
  const calls = useMemo(
    () => callsOfOffice(state, address, hasHousekeeping),
    [state.calls, address.line, address.office, hasHousekeeping]
  )
  const shown = useMemo(
    () => (typeof filter === "string" ? calls : calls.filter(({ call }) => filter(call, now))),
    // The duration of running calls is compared again with each batch.
    [calls, filter]
  )
  const latency = useMemo(() => latencyOf(shown), [shown])
  const openedAt = serverNow() - performance.now()
  // The Server may list calls of before.
  const since = Math.min(openedAt, calls.at(-1)?.call.startedAt ?? openedAt)
  const counted = [
    formatNumberOf(shown.length, "call"),
    ...(latency === undefined ? [] : [`p50 ${formatDuration(latency.p50)}`, `p99 ${formatDuration(latency.p99)}`]),
    `since ${formatClock(since)}`,
    since === openedAt ? "when this page was opened" : "while a page was open"
  ].join(", ")
  const computers = findPageOffice(state, address).computers.map(({ name }) => name)
  const chosen = shown.find(({ call }) => call.id === parameters["call"])
  const select = (id: string) => replaceParameters({ call: id })
  return (
    <>
      <div class="row field">
        <label for="call-filter">Filter</label>
        <input
          id="call-filter"
          type="search"
          placeholder="tool, Computer, Agent or event; or status:failed duration>100ms"
          value={text}
          aria-invalid={typeof filter === "string"}
          aria-describedby="call-filter-state"
          onInput={(event) => replaceParameters({ filter: event.currentTarget.value })}
        />
        <span id="call-filter-state" class={typeof filter === "string" ? "error" : "note"}>
          {typeof filter === "string" ? visibleLine(filter) : counted}
        </span>
        <label>
          <input
            type="checkbox"
            checked={hasHousekeeping}
            onChange={(event) => replaceParameters({ all: event.currentTarget.checked ? "1" : undefined })}
          />{" "}
          Housekeeping
        </label>
        <button
          type="button"
          aria-pressed={paused !== undefined}
          onClick={() => setPaused(paused === undefined ? { state: pageState.peek(), now } : undefined)}
        >
          Pause
        </button>
      </div>
      {calls.length === 0 ? (
        <Empty command={memberCommand("agent", address.office, "call echo message=hi")}>
          No call was made since {formatClock(openedAt)}, when this page was opened. Earlier ones are only in an audit
          log of the Server. Calls of the Agent appear here:
        </Empty>
      ) : (
        <>
          <CallTimeline calls={shown} computers={computers} now={now} selected={chosen?.call.id} onSelect={select} />
          <ListWithDetails
            label="Calls"
            items={shown}
            keyOf={({ call }) => call.id}
            selected={chosen?.call.id}
            onSelect={({ call }) => select(call.id)}
            detailsLabel="Call"
            hint="Choose a call to see its details."
            details={chosen && <CallDetails key={chosen.call.id} entry={chosen} now={now} />}
          >
            {({ call }) => <CallRow call={call} now={now} />}
          </ListWithDetails>
        </>
      )}
    </>
  )
}

const appTimeoutSeconds = 60

/** The facts of a call, those first that a person asks for. Its only phase stands above them. */
const factsOf = ({ call, phases }: TrackedCall, now: number) =>
  [
    ["Duration", formatDuration(durationOf(call, now))],
    ["Agent", call.agent],
    ["Computer", call.computer],
    ["Started", formatDateTime(call.startedAt)],
    ["Decision", describeStatus(call.decision)],
    [
      "Phases",
      (phases.length < 2 ? [] : phases)
        .map(({ at, phase }) => `${phase} after ${formatDuration(Math.max(0, at - call.startedAt))}`)
        .join(", ")
    ],
    ["Subject", call.subject],
    ["Event", call.event],
    ["Request id", call.reqId],
    ["Trace id", call.traceId],
    ["Node", call.node]
  ].map(([name = "", text]) => [name, text && <Name of={text} length={1_000} />] as const)

const AsCommand = ({ call, params }: Pick<CallAppProps, "call" | "params">) => {
  if (call.tool === undefined) return null
  const command = copyAsCommand(call, connectionWords(), params)
  return (
    <>
      <h3>As a command</h3>
      <LongText text={command} code />
      <p>
        <CopyButton label="Copy the command" text={command} />
        {params === undefined && (
          <span class="note"> The arguments are missing: only a2c server --page-bodies captures them.</span>
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

const CallApp = ({ call: { computer, id, line, office, tool = "" }, params, result }: CallAppProps) => {
  const found = findListedTool(useOfficeTools({ line, office }).tools, { computer, tool })
  if (found === undefined || params === undefined || result === undefined) return null
  const target = { line, office, computer, timeout: appTimeoutSeconds }
  return <AppCard key={id} target={target} tool={found.tool} params={params} result={result} />
}

/** The details of a call, with its arguments and its result where the Server captures them. */
const CallDetails = ({ entry, now }: { readonly entry: TrackedCall; readonly now: number }) => {
  const { call } = entry
  const isRunning = call.endedAt === undefined
  const hasBodies = session.value?.hasBodies === true
  const command = { _tag: "GetCallBody", id: call.id } as const
  const wanted = { version: String(isRunning), command }
  const { error, reply } = useReplies<"GetCallBody">(hasBodies ? [wanted] : [])(command)
  const params = parseJsonObject(reply?.params)
  const result = parseJsonObject(reply?.result)
  return (
    <article>
      <h2>
        <Name of={call.tool ?? call.event} />
      </h2>
      <p>
        <Phase of={phaseOf(call)} />{" "}
        <Name
          of={isRunning ? describeStatus(call.status) : describeFailure(call, session.value?.subject)}
          length={1_000}
        />
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
      <Facts isRow facts={factsOf(entry, now)} />
      {error !== undefined && <ErrorText error={error} />}
      {reply !== undefined && (
        <div class="columns">
          <section aria-label="Arguments">
            <h3>Arguments</h3>
            <LongText text={reply.params} code />
          </section>
          <section aria-label="Result">
            <h3>Result</h3>
            {result === undefined ? <LongText text={reply.result} code /> : <CallResult result={result} />}
            <CallApp call={call} params={params} result={result} />
          </section>
        </div>
      )}
      <AsCommand call={call} params={params} />
    </article>
  )
}
