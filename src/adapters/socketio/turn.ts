let turn = 0
let isCounted = false

/** The number of the turn of the event loop that runs: what has come together has the same. */
export const currentTurn = (): number => {
  if (!isCounted) {
    isCounted = true
    setImmediate(() => {
      isCounted = false
      turn += 1
    })
  }
  return turn
}
