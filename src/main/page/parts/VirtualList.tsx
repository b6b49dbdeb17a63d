import type { ComponentChildren, TargetedKeyboardEvent } from "preact"
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks"

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

/**
 * A list box of which only the visible rows exist. Arrow keys, Page Up, Page Down, Home and End move the selection. A
 * list that is scrolled keeps its rows in their place while items are added above them.
 */
export const VirtualList = <A,>({ children, items, keyOf, label, onSelect, selected }: VirtualListProps<A>) => {
  const box = useRef<HTMLDivElement>(null)
  const topItem = useRef<string>(undefined)
  const latest = useRef(items)
  latest.current = items
  const id = useId()
  const [view, setView] = useState({ top: 0, height: 400 })
  const index = items.findIndex((item) => keyOf(item) === selected)

  useLayoutEffect(() => {
    const element = box.current
    if (element === null || element.scrollTop === 0 || topItem.current === undefined) return
    const before = Math.floor(element.scrollTop / rowHeight)
    const after = items.findIndex((item) => keyOf(item) === topItem.current)
    if (after === before) return
    if (after >= 0) element.scrollTop += (after - before) * rowHeight
    measure()
  }, [items])

  const measure = (): void => {
    const element = box.current
    if (element === null) return
    const item = latest.current[Math.floor(element.scrollTop / rowHeight)]
    topItem.current = item === undefined ? undefined : keyOf(item)
    setView({ top: element.scrollTop, height: element.clientHeight })
  }
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

  // The selection may also change outside of the list.
  const isListed = index >= 0
  useEffect(() => {
    if (box.current !== null && isListed) showRow(box.current, index)
  }, [selected, isListed])

  const select = (next: number): void => {
    const item = items[Math.max(0, Math.min(items.length - 1, next))]
    if (item !== undefined) onSelect(item)
  }
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>): void => {
    const page = Math.max(1, Math.floor(view.height / rowHeight) - 1)
    const targets: { readonly [key: string]: number } = {
      ArrowDown: index + 1,
      ArrowUp: index < 0 ? 0 : index - 1,
      PageDown: index + page,
      PageUp: index - page,
      Home: 0,
      End: items.length - 1
    }
    const target = targets[event.key]
    if (target === undefined) return
    event.preventDefault()
    select(target)
  }

  const first = Math.max(0, Math.floor(view.top / rowHeight) - overscan)
  const last = Math.min(items.length, Math.ceil((view.top + view.height) / rowHeight) + overscan)
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
              class="virtual-row"
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
