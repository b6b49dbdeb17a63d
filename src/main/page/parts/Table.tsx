import { type ComponentChildren, h } from "preact"
import { stateTones } from "../../../domain/page/officePicture.ts"
import { formatCount, formatDuration } from "../../../domain/text/format.ts"
import { useServerTime } from "../connection/store.ts"
import { formatDateTime, LongText, Name } from "./Text.tsx"

/** A column of a table: its title, and the cell of a row. */
export interface Column<A> {
  readonly title: string
  readonly cell: (row: A) => ComponentChildren
  /** The class of a cell. */
  readonly kind?: (row: A) => string
}

export const countColumn = <A,>(title: string, count: (row: A) => number): Column<A> => ({
  title,
  cell: (row) => formatCount(count(row))
})

interface TableProps<A> {
  readonly label: string
  readonly columns: ReadonlyArray<Column<A>>
  readonly rows: ReadonlyArray<A>
  /** Stands instead of a table without rows. */
  readonly empty?: string
  readonly keyOf: (row: A, index: number) => string | number
  /** The first cell of a row names it. */
  readonly hasRowHeaders?: boolean
}

/** A table; on a narrow page each row is a list of its titles and cells. */
export const Table = <A,>({ columns, empty, hasRowHeaders = true, keyOf, label, rows }: TableProps<A>) => {
  if (rows.length === 0 && empty !== undefined) return <p class="note">{empty}</p>
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map(({ title }) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={keyOf(row, index)}>
              {columns.map(({ cell, kind, title }, at) =>
                at === 0 && hasRowHeaders
                  ? h("th", { key: title, scope: "row" }, cell(row))
                  : h("td", { key: title, class: kind?.(row), "data-title": title }, cell(row))
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** The states of MCP servers, nodes, devices or packs in their colours, with the reasons. */
export const stateColumn: Column<{ readonly state: string; readonly reason?: string }> = {
  title: "State",
  cell: ({ reason, state }) => (
    <>
      <span class={`dot ${stateTones[state] ?? "idle"}`}>
        <Name of={state} />
      </span>
      {reason !== undefined && <LongText text={reason} />}
    </>
  )
}

/** The time that has passed since another one. */
export const Age = ({ since }: { readonly since: number }) => (
  <span title={formatDateTime(since)}>{formatDuration(Math.max(0, useServerTime(5_000) - since))}</span>
)

interface FactsProps {
  /** Names and values; those without a value are left out. Foreign names are a `Name`. */
  readonly facts: ReadonlyArray<readonly [name: ComponentChildren, value: ComponentChildren]>
  /** Shows the facts side by side. */
  readonly isRow?: boolean
}

/** A list of names and values. */
export const Facts = ({ facts, isRow = false }: FactsProps) => (
  <dl class={isRow ? "row facts" : "pairs"}>
    {facts
      .filter(([, value]) => value !== undefined && value !== "")
      .map(([name, value], index) => (
        <div key={index}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
)

const height = 20
const barWidth = 2

/** Calls in each of the last seconds as bars. */
export const Sparkline = ({ values }: { readonly values: ReadonlyArray<number> }) => {
  const max = Math.max(0, ...values)
  const width = values.length * barWidth
  const bars = values.flatMap((value, index) =>
    value === 0 ? [] : [`M${(index + 0.5) * barWidth} ${height}v-${Math.max(2, (value / max) * height)}`]
  )
  const label = `calls per second in the last minute, at most ${max}`
  return (
    <svg role="img" aria-label={label} viewBox={`0 0 ${width} ${height}`} width={width} height={height}>
      <path d={`M0 ${height - 0.5}h${width}`} stroke="var(--line)" />
      <path d={bars.join("")} stroke="var(--phase-running)" stroke-width={barWidth - 0.5} />
    </svg>
  )
}
