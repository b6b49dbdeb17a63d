import { type Body, jsonBody } from "../ports/Body.ts"

/** As much of an answer as a message can carry, and whose parts it lacks. */
export interface Fitting {
  readonly body: Body
  readonly left: ReadonlyArray<string>
}

/** What everybody has together, in bytes, who has most first. */
const byWeight = <A>(items: ReadonlyArray<A>, ownerOf: (item: A) => string): ReadonlyArray<string> => {
  const weights = new Map<string, number>()
  for (const item of items) {
    const owner = ownerOf(item)
    weights.set(owner, (weights.get(owner) ?? 0) + jsonBody(item).bytes())
  }
  return [...weights].toSorted(([, one], [, other]) => other - one).map(([owner]) => owner)
}

/**
 * An answer with a list, without the parts of those who have most of it when it would not fit otherwise: nobody hides
 * what all others have. Nothing when nobody's parts fit.
 */
export const fitting = <A>(
  items: ReadonlyArray<A>,
  ownerOf: (item: A) => string,
  write: (items: ReadonlyArray<A>) => Body,
  fits: (body: Body) => boolean
): Fitting | undefined => {
  const whole = write(items)
  if (fits(whole)) return { body: whole, left: [] }
  const owners = byWeight(items, ownerOf)
  const without = (count: number): Fitting => {
    const left = owners.slice(0, count)
    const gone = new Set(left)
    return { body: write(items.filter((item) => !gone.has(ownerOf(item)))), left }
  }
  // The fewer have to go the better; that so many are enough is looked for by halves, since each look costs a message.
  let tooFew = 0
  let enough = owners.length
  let found: Fitting | undefined
  while (enough - tooFew > 1) {
    const count = Math.floor((tooFew + enough) / 2)
    const tried = without(count)
    if (fits(tried.body)) {
      enough = count
      found = tried
    } else tooFew = count
  }
  return found
}
