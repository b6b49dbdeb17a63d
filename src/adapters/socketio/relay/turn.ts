let tick = 0
let isScheduled = false

/** The number of the turn of the event loop that runs: what has come together has the same. */
export const eventLoopTick = (): number => {
  if (!isScheduled) {
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      tick += 1
    })
  }
  return tick
}
