import type { ComponentChildren, TargetedEvent, TargetedKeyboardEvent } from "preact"
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks"

interface VirtualListProps<A> {
  readonly label: string
  readonly items: ReadonlyArray<A>
  readonly keyOf: (item: A) => string
  readonly selected: string | undefined
  readonly onSelect: (item: A) => void
  readonly children: (item: A) => ComponentChildren
}

/** The height of a row in pixels, and the visible rows of the highest list, as in the style sheet. */
const rowHeight = 36
const maxVisibleRows = 20

/** Rows above and below the visible ones. */
const overscan = 6

/**
 * A list box of which only the visible rows exist. Arrow keys, Page Up, Page Down, Home and End move the selection. A
 * list that is scrolled keeps its rows in their place while items are added above them.
 */
const VirtualList = <A,>({ children, items, keyOf, label, onSelect, selected }: VirtualListProps<A>) => {
  const box = useRef<HTMLDivElement>(null)
  const id = useId()
  /** The item at the top of a list that is scrolled, and the row at which it was shown. */
  const [topKey, setTopKey] = useState<string>()
  const topRow = useRef(0)
  const found = topKey === undefined ? -1 : items.findIndex((item) => keyOf(item) === topKey)
  const row = found < 0 ? topRow.current : found
  const first = Math.max(0, row - overscan)
  const last = Math.min(items.length, row + maxVisibleRows + overscan)
  useLayoutEffect(() => {
    // Also a scroll by nothing would stop the scroll of the user.
    if (box.current !== null && row !== topRow.current) box.current.scrollTop += (row - topRow.current) * rowHeight
    topRow.current = row
  }, [row])
  const onScroll = ({ currentTarget: { scrollTop } }: TargetedEvent<HTMLDivElement>): void => {
    topRow.current = Math.floor(scrollTop / rowHeight)
    const item = items[topRow.current]
    setTopKey(scrollTop === 0 || item === undefined ? undefined : keyOf(item))
  }

  // The selection may also change outside of the list.
  const index = items.findIndex((item) => keyOf(item) === selected)
  const isListed = index >= 0
  useEffect(() => {
    if (box.current === null || !isListed) return
    const { clientHeight, scrollTop } = box.current
    box.current.scrollTop = Math.min(index * rowHeight, Math.max(scrollTop, (index + 1) * rowHeight - clientHeight))
  }, [selected, isListed])

  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>): void => {
    const pageRows = Math.floor(event.currentTarget.clientHeight / rowHeight) - 1
    const targets: { readonly [key: string]: number } = {
      ArrowDown: index + 1,
      ArrowUp: index - 1,
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
      onScroll={onScroll}
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
