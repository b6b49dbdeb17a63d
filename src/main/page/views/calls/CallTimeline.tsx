import { useMemo, useState } from "preact/hooks"
import { arrangeLanes, type CallLane, callsBetween, segmentsOf } from "../../../../domain/page/calls/officeCalls.ts"
import {
  type CallPhase,
  callPhases,
  describeStatus,
  durationOf,
  phaseOf
} from "../../../../domain/page/calls/callPhase.ts"
import { formatDuration } from "../../../../domain/text/format.ts"
import type { TrackedCall } from "../../../../domain/page/PageState.ts"
import { Select } from "../../parts/controls.tsx"
import { Name } from "../../parts/Text.tsx"
import { truncate, visibleLine } from "../../parts/visibleText.ts"

/** Spans of the timeline in seconds. */
const spans = [10, 60, 300]
const defaultSpan = 60

/** Bars that are drawn of each lane, the latest ones, and lanes that are drawn. */
const maxBars = 300
const maxLanes = 40

/** Pixels of a row, the share of it that a bar fills, and the share of the span that the shortest bar fills. */
const rowHeight = 10
const barHeight = 0.8
const minBarWidth = 0.002

export const dotOf = (phase: CallPhase) => ({ "--phase": `var(--phase-${phase})` })

interface CallTimelineProps {
  readonly calls: ReadonlyArray<TrackedCall>
  readonly computers: ReadonlyArray<string>
  readonly now: number
  readonly selected: string | undefined
  readonly onSelect: (id: string) => void
}

interface BarsProps extends Pick<CallTimelineProps, "now" | "onSelect" | "selected"> {
  readonly lane: CallLane
  readonly from: number
}

const titleOf = ({ call }: TrackedCall, now: number): string => {
  const duration = formatDuration(durationOf(call, now))
  const words = [call.tool ?? call.event, phaseOf(call), duration, describeStatus(call.status)]
  return visibleLine(truncate(words.filter((word) => word !== "").join(", "), 400))
}

/** The calls of a lane, drawn in milliseconds and rows; the phases of a call are adjacent bars. */
const Bars = ({ from, lane: { calls, rows }, now, onSelect, selected }: BarsProps) => (
  <svg
    class="lane"
    role="img"
    aria-label={`${calls.length} calls`}
    viewBox={`0 0 ${now - from} ${rows}`}
    preserveAspectRatio="none"
    height={rows * rowHeight}
  >
    {calls.slice(-maxBars).map(({ entry, row }) => (
      <g
        key={entry.call.id}
        class={entry.call.id === selected ? "call selected" : "call"}
        onClick={() => onSelect(entry.call.id)}
      >
        <title>{titleOf(entry, now)}</title>
        {segmentsOf(entry, now).map(({ from: start, phase, to }) => (
          <rect
            key={start}
            class={`bar-${phase}`}
            x={start - from}
            y={row}
            width={Math.max(to - start, (now - from) * minBarWidth)}
            height={barHeight}
            fill={`var(--phase-${phase})`}
          />
        ))}
      </g>
    ))}
  </svg>
)

/** The latest calls, with a lane for each Computer. The list beside it says the same in words. */
export const CallTimeline = ({ calls, computers, now, ...rest }: CallTimelineProps) => {
  const [span, setSpan] = useState(defaultSpan)
  const from = now - span * 1000
  const lanes = useMemo(
    () => arrangeLanes(computers, callsBetween(calls, from, now)).slice(0, maxLanes),
    [calls, from, computers.join("\n")]
  )
  return (
    <div class="timeline card">
      <div class="row between field">
        <ul class="row plain legend" aria-label="Colours">
          {callPhases.map((phase) => (
            <li key={phase} class="dot" style={dotOf(phase)}>
              {phase}
            </li>
          ))}
        </ul>
        <label>
          Span{" "}
          <Select
            attributes={{ class: "small" }}
            value={span}
            options={spans.map((seconds) => [seconds, formatDuration(seconds * 1000)])}
            onSelect={(value) => setSpan(Number(value))}
          />
        </label>
      </div>
      {lanes.map((lane) => (
        <div key={lane.computer} class="row nowrap field">
          <span class="lane-name">
            <Name of={lane.computer} length={40} />
          </span>
          <Bars lane={lane} from={from} now={now} {...rest} />
        </div>
      ))}
      <div class="row nowrap field note" aria-hidden="true">
        <span class="lane-name" />
        <span class="row between grow">
          <span>{formatDuration(span * 1000)} ago</span>
          <span>now</span>
        </span>
      </div>
    </div>
  )
}
