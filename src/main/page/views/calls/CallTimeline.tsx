import type { ComponentChildren } from "preact"
import { useMemo, useState } from "preact/hooks"
import { arrangeLanes, type CallLane, callsBetween, segmentsOf } from "../../../../domain/page/calls/officeCalls.ts"
import { describeStatus, durationOf, phaseOf } from "../../../../domain/page/calls/callPhase.ts"
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

/** Pixels of a row and of a bar, and the smallest width of a bar in the units of the drawing. */
const rowHeight = 10
const barHeight = 8
const width = 1_000
const minBarWidth = 2

interface BarsProps {
  readonly lane: CallLane
  readonly from: number
  readonly now: number
  readonly selected: string | undefined
  readonly onSelect: (id: string) => void
}

const titleOf = ({ call }: TrackedCall, now: number): string => {
  const duration = formatDuration(durationOf(call, now))
  const words = [call.tool ?? call.event, phaseOf(call), duration, describeStatus(call.status)]
  return visibleLine(truncate(words.filter((word) => word !== "").join(", "), 400))
}

/** The phases of one call as adjacent bars. */
const barsOf = (entry: TrackedCall, row: number, from: number, now: number) => {
  const scale = width / Math.max(1, now - from)
  return segmentsOf(entry, now)
    .filter(({ to }) => to >= from)
    .map(({ from: start, phase, to }) => {
      const x = Math.max(0, start - from) * scale
      const size = Math.max(minBarWidth, (to - from) * scale - x)
      const fill = `var(--phase-${phase})`
      const shape = { x, y: row * rowHeight, width: size, height: barHeight, fill }
      return <rect key={start} {...shape} class={`bar-${phase}`} />
    })
}

const Bars = ({ from, lane, now, onSelect, selected }: BarsProps) => (
  <svg
    class="lane"
    role="img"
    aria-label={`${lane.calls.length} calls`}
    viewBox={`0 0 ${width} ${lane.rows * rowHeight}`}
    preserveAspectRatio="none"
    height={lane.rows * rowHeight}
  >
    {lane.calls.slice(-maxBars).map(({ entry, row }) => (
      <g
        key={entry.call.id}
        class={entry.call.id === selected ? "call selected" : "call"}
        onClick={() => onSelect(entry.call.id)}
      >
        <title>{titleOf(entry, now)}</title>
        {barsOf(entry, row, from, now)}
      </g>
    ))}
  </svg>
)

interface CallTimelineProps extends Pick<BarsProps, "now" | "onSelect" | "selected"> {
  readonly calls: ReadonlyArray<TrackedCall>
  readonly computers: ReadonlyArray<string>
  /** The legend. */
  readonly children: ComponentChildren
}

/** The latest calls, with a lane for each Computer. The list beside it says the same in words. */
export const CallTimeline = ({ calls, children, computers, now, ...rest }: CallTimelineProps) => {
  const [span, setSpan] = useState(defaultSpan)
  const from = now - span * 1000
  const lanes = useMemo(
    () => arrangeLanes(computers, callsBetween(calls, from, now)).slice(0, maxLanes),
    [calls, from, computers.join("\n")]
  )
  return (
    <div class="timeline card">
      <div class="row between field">
        {children}
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
