import { useMemo, useState } from "preact/hooks"
import { parseCallFilter } from "../../../../domain/page/calls/callFilter.ts"
import { callPhases, durationOf, phaseOf } from "../../../../domain/page/calls/callPhase.ts"
import { quoteForShell } from "../../../../domain/text/quoteForShell.ts"
import { callsOfOffice, latencyOf } from "../../../../domain/page/calls/officeCalls.ts"
import { formatDuration, formatNumberOf } from "../../../../domain/text/format.ts"
import { findPageOffice } from "../../../../domain/page/offices.ts"
import type { PageCall } from "../../../../domain/page/PageEvent.ts"
import type { PageState, TrackedCall } from "../../../../domain/page/PageState.ts"
import type { OfficeRoute } from "../../../../domain/page/route.ts"
import { pageState, replaceParameters } from "../../connection/store.ts"
import { Empty } from "../../parts/missing.tsx"
import { Name } from "../../parts/Text.tsx"
import { formatClock, useServerTime } from "../../parts/time.ts"
import { visibleLine } from "../../parts/visibleText.ts"
import { ListWithDetails } from "../../parts/VirtualList.tsx"
import { CallDetails } from "./CallDetails.tsx"
import { CallTimeline } from "./CallTimeline.tsx"

/** How often running bars grow, in milliseconds. */
const tick = 250

const CallRow = ({ call, now }: { readonly call: PageCall; readonly now: number }) => {
  const phase = phaseOf(call)
  return (
    <>
      <span class={`phase phase-${phase}`}>{phase}</span>
      <span class="grow">
        <Name of={call.tool ?? call.event} length={80} />{" "}
        <span class="note">{<Name of={call.computer} length={40} />}</span>
      </span>
      <span class="note clock">{formatClock(call.startedAt)}</span>
      <span class="number">{formatDuration(durationOf(call, now))}</span>
    </>
  )
}

const Latency = ({ calls }: { readonly calls: ReadonlyArray<TrackedCall> }) => {
  const latency = useMemo(() => latencyOf(calls), [calls])
  return (
    <span class="note">
      {formatNumberOf(calls.length, "call")}
      {latency !== undefined && `, p50 ${formatDuration(latency.p50)}, p99 ${formatDuration(latency.p99)}`}
    </span>
  )
}

const Legend = () => (
  <ul class="legend" aria-label="Colours">
    {callPhases.map((phase) => (
      <li key={phase}>
        <span class={`swatch bar-${phase}`} aria-hidden="true" /> {phase}
      </li>
    ))}
  </ul>
)

/** The calls of an office: timeline, list, filter and details. */
export const CallsView = ({ address, parameters }: OfficeRoute) => {
  const [paused, setPaused] = useState<{ readonly state: PageState; readonly now: number }>()
  const current = useServerTime(tick)
  const state = paused?.state ?? pageState.value
  const now = paused?.now ?? Math.max(current, state.at)
  const text = parameters["filter"] ?? ""
  const filter = useMemo(() => parseCallFilter(text), [text])
  const calls = useMemo(() => callsOfOffice(state, address), [state.calls, address.line, address.office])
  const shown = useMemo(
    () => (filter._tag === "Filter" ? calls.filter(({ call }) => filter.matches(call, now)) : calls),
    // The duration of running calls is compared again with each batch.
    [calls, filter]
  )
  const computers = findPageOffice(state, address).computers.map(({ name }) => name)
  const chosen = calls.find(({ call }) => call.id === parameters["call"])
  const select = (id: string) => replaceParameters({ call: id })
  return (
    <>
      <div class="field">
        <label for="call-filter">Filter</label>
        <input
          id="call-filter"
          type="search"
          placeholder="tool:read status:failed duration>100ms agent:x"
          value={text}
          aria-invalid={filter._tag === "Invalid"}
          aria-describedby="call-filter-state"
          onInput={(event) => replaceParameters({ filter: event.currentTarget.value })}
        />
        <span id="call-filter-state" class={filter._tag === "Invalid" ? "error" : "note"}>
          {filter._tag === "Invalid" ? visibleLine(filter.message) : <Latency calls={shown} />}
        </span>
        <button
          type="button"
          aria-pressed={paused !== undefined}
          onClick={() => setPaused(paused === undefined ? { state: pageState.peek(), now } : undefined)}
        >
          Pause
        </button>
      </div>
      {calls.length === 0 ? (
        <Empty command={`a2c agent --office ${quoteForShell(address.office)} call echo message=hi`}>
          No call was made since this page was opened. Calls of the Agent appear here:
        </Empty>
      ) : (
        <>
          <CallTimeline calls={shown} computers={computers} now={now} selected={chosen?.call.id} onSelect={select}>
            <Legend />
          </CallTimeline>
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
