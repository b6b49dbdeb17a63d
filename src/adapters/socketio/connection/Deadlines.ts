/** The share of a duration by which an item may be late: many items share a timer. */
const maxLateness = 1 / 32

/** In milliseconds. */
const maxLatenessMillis = 100

/** Items that are due one duration after their start: one timer for all of them. */
export class Deadlines<T> {
  /** The time at which each item is due, earliest first. */
  readonly #dueTimes = new Map<T, number>()
  readonly #millis: number
  readonly #onDue: (item: T) => void
  #timer: NodeJS.Timeout | undefined

  /** An item is no longer in the list when `onDue` gets it. */
  constructor(millis: number, onDue: (item: T) => void) {
    this.#millis = millis
    this.#onDue = onDue
  }

  get size(): number {
    return this.#dueTimes.size
  }

  /** The item that is due next. */
  first(): T | undefined {
    return this.#dueTimes.keys().next().value
  }

  /** Starts the time of an item, again if it runs. */
  start(item: T): void {
    this.#dueTimes.delete(item)
    // An integer: V8 stores others as objects.
    this.#dueTimes.set(item, Math.ceil(performance.now()) + this.#millis)
    if (this.#timer === undefined) this.#schedule(this.#millis)
  }

  stop(item: T): void {
    this.#dueTimes.delete(item)
  }

  clear(): void {
    this.#dueTimes.clear()
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #schedule(millis: number): void {
    const least = Math.min(this.#millis * maxLateness, maxLatenessMillis)
    this.#timer = setTimeout(this.#onTimer, Math.max(millis, least)).unref()
  }

  readonly #onTimer = (): void => {
    const now = performance.now()
    this.#timer = undefined
    for (const [item, dueTime] of this.#dueTimes) {
      if (dueTime > now) break
      this.#dueTimes.delete(item)
      this.#onDue(item)
    }
    const [next] = this.#dueTimes.values()
    if (next !== undefined && this.#timer === undefined) this.#schedule(next - now)
  }
}
