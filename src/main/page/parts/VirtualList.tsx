import type { ComponentChildren, RefObject, TargetedKeyboardEvent } from "preact"
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks"
import { Name } from "./Text.tsx"

interface VirtualListProps<A> {
  readonly label: string
  readonly items: ReadonlyArray<A>
  readonly keyOf: (item: A) => string
  readonly selected: string | undefined
  readonly onSelect: (item: A) => void
  readonly children: (item: A) => ComponentChildren
}

/** The height of a row in pixels, as in the style sheet. */
const rowHeight = 36

/** Rows above and below the visible ones. */
const overscan = 6

const showRow = (box: HTMLElement, index: number): void => {
  const top = index * rowHeight
  if (top < box.scrollTop) box.scrollTop = top
  if (top + rowHeight > box.scrollTop + box.clientHeight) box.scrollTop = top + rowHeight - box.clientHeight
}

/** The rows that a box shows. Items that are added above them do not move them. */
const useVisibleRows = <A,>(
  box: RefObject<HTMLDivElement | null>,
  { items, keyOf }: Pick<VirtualListProps<A>, "items" | "keyOf">
) => {
  const topItem = useRef<string>(undefined)
  const latest = useRef(items)
  latest.current = items
  const [view, setView] = useState({ top: 0, height: 400 })

  const measure = (): void => {
    const element = box.current
    if (element === null) return
    const item = latest.current[Math.floor(element.scrollTop / rowHeight)]
    topItem.current = item === undefined ? undefined : keyOf(item)
    setView({ top: element.scrollTop, height: element.clientHeight })
  }
  useLayoutEffect(() => {
    const element = box.current
    if (element === null || element.scrollTop === 0 || topItem.current === undefined) return
    const before = Math.floor(element.scrollTop / rowHeight)
    const after = items.findIndex((item) => keyOf(item) === topItem.current)
    if (after === before) return
    if (after >= 0) element.scrollTop += (after - before) * rowHeight
    measure()
  }, [items])
  useEffect(() => {
    const element = box.current
    if (element === null) return undefined
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    element.addEventListener("scroll", measure, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener("scroll", measure)
    }
  }, [])
  return {
    first: Math.max(0, Math.floor(view.top / rowHeight) - overscan),
    last: Math.min(items.length, Math.ceil((view.top + view.height) / rowHeight) + overscan),
    /** The rows that Page Up and Page Down skip. */
    pageRows: Math.max(1, Math.floor(view.height / rowHeight) - 1)
  }
}

/**
 * A list box of which only the visible rows exist. Arrow keys, Page Up, Page Down, Home and End move the selection. A
 * list that is scrolled keeps its rows in their place while items are added above them.
 */
const VirtualList = <A,>({ children, items, keyOf, label, onSelect, selected }: VirtualListProps<A>) => {
  const box = useRef<HTMLDivElement>(null)
  const id = useId()
  const { first, last, pageRows } = useVisibleRows(box, { items, keyOf })
  const index = items.findIndex((item) => keyOf(item) === selected)

  // The selection may also change outside of the list.
  const isListed = index >= 0
  useEffect(() => {
    if (box.current !== null && isListed) showRow(box.current, index)
  }, [selected, isListed])

  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>): void => {
    const targets: { readonly [key: string]: number } = {
      ArrowDown: index + 1,
      ArrowUp: Math.max(0, index - 1),
      PageDown: index + pageRows,
      PageUp: index - pageRows,
      Home: 0,
      End: items.length - 1
    }
    const target = targets[event.key]
    if (target === undefined) return
    event.preventDefault()
    const item = items[Math.max(0, Math.min(items.length - 1, target))]
    if (item !== undefined) onSelect(item)
  }
  // The selected row is referred to, so it exists only while it is visible.
  const active = index >= first && index < last ? `${id}-${index}` : undefined
  return (
    <div
      ref={box}
      class="virtual-list"
      role="listbox"
      aria-label={label}
      tabIndex={0}
      onKeyDown={onKeyDown}
      {...(active !== undefined && { "aria-activedescendant": active })}
    >
      <div class="virtual-space" role="presentation" style={{ height: `${items.length * rowHeight}px` }}>
        {items.slice(first, last).map((item, offset) => {
          const at = first + offset
          return (
            <div
              key={keyOf(item)}
              id={`${id}-${at}`}
              class="row nowrap virtual-row"
              role="option"
              aria-selected={at === index}
              aria-setsize={items.length}
              aria-posinset={at + 1}
              style={{ transform: `translateY(${at * rowHeight}px)` }}
              // A row that moves before the button is released gets no click.
              onMouseDown={({ button }) => button === 0 && onSelect(item)}
              onClick={() => onSelect(item)}
            >
              {children(item)}
            </div>
          )
        })}
      </div>
    </div>
  )
}

interface ListWithDetailsProps<A> extends VirtualListProps<A> {
  /** Names the details for screen readers. */
  readonly detailsLabel: string
  /** Stands instead of the details while nothing is chosen. */
  readonly hint: string
  readonly details: ComponentChildren
}

/** A list, and beside it the details of the chosen item. */
export const ListWithDetails = <A,>({ details, detailsLabel, hint, ...list }: ListWithDetailsProps<A>) => {
  const element = useRef<HTMLElement>(null)
  // A narrow page shows the details below the list. The arrow keys choose further entries, and stay at the list.
  const showDetails = ({ target }: MouseEvent): void => {
    const isChoice = target instanceof Element && target.closest("[role=option]") !== null
    if (isChoice && matchMedia("(max-width: 60rem)").matches) element.current?.scrollIntoView()
  }
  return (
    <div class="columns" onClick={showDetails}>
      <VirtualList {...list} />
      <section ref={element} class="card" aria-label={detailsLabel}>
        {details ?? <p class="note">{hint}</p>}
      </section>
    </div>
  )
}

interface OfferRowProps {
  readonly of: { readonly name: string; readonly description: string }
  readonly computer: string
  readonly children?: ComponentChildren
}

/** The row of a tool or a prompt. */
export const OfferRow = ({ children, computer, of: { description, name } }: OfferRowProps) => (
  <>
    <span class="grow">
      <Name of={name} />{" "}
      <span class="note">
        <Name of={description} length={120} />
      </span>
    </span>
    {children}
    <span class="tag">
      <Name of={computer} length={40} />
    </span>
  </>
)
