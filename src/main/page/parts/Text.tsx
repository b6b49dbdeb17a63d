import { useMemo, useState } from "preact/hooks"
import { formatCount } from "../../../domain/text/format.ts"
import { splitText, truncate, visibleLine, visibleText } from "./visibleText.ts"

/** The length of a name in a line, in UTF-16 units. */
const maxNameLength = 256

/** The length of a text before it is expanded, in UTF-16 units. */
const collapsedLength = 4_000

/** The browser lays out only the visible blocks of an expanded text. */
const blockLength = 20_000

/** A foreign text in one line, isolated from the direction of its surroundings. */
export const Name = ({ of, length = maxNameLength }: { readonly of: string; readonly length?: number }) => (
  <bdi class="name">{visibleLine(truncate(of, length))}</bdi>
)

/** A foreign text of several lines. A long one is truncated, with a button that shows all. */
export const LongText = ({ text, code = false }: { readonly text: string; readonly code?: boolean }) => {
  const [isExpanded, setExpanded] = useState(false)
  const isLong = text.length > collapsedLength
  const blocks = useMemo(
    () => splitText(isExpanded ? text : truncate(text, collapsedLength), blockLength).map(visibleText),
    [text, isExpanded]
  )
  return (
    <div class={code ? "long-text code" : "long-text"}>
      {blocks.map((block, index) => (
        <bdi class="block" key={index}>
          {block}
        </bdi>
      ))}
      {isLong && (
        <button type="button" class="small" aria-expanded={isExpanded} onClick={() => setExpanded(!isExpanded)}>
          {isExpanded ? "show less" : `show all ${formatCount(text.length)} characters`}
        </button>
      )}
    </div>
  )
}

export const JsonText = ({ value }: { readonly value: unknown }) => {
  const text = useMemo(() => JSON.stringify(value, null, 2) ?? "null", [value])
  return <LongText text={text} code />
}

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium", hourCycle: "h23" })
const dateAndClock = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" })

/** The time of the day in the language of the browser. */
export const formatClock = (at: number): string => clock.format(at)

export const formatDateTime = (at: number): string => dateAndClock.format(at)
