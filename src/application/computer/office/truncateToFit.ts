import { type Body, jsonBody } from "../../ports/Body.ts"

/** As much of an answer as a message can carry, and whose parts it lacks. */
export interface TruncatedReply {
  readonly body: Body
  readonly omitted: ReadonlyArray<string>
}

/** What everybody has together, in bytes, who has most first. */
const ownersBySize = <A>(items: ReadonlyArray<A>, ownerOf: (item: A) => string): ReadonlyArray<string> => {
  const sizes = new Map<string, number>()
  for (const item of items) {
    const owner = ownerOf(item)
    sizes.set(owner, (sizes.get(owner) ?? 0) + jsonBody(item).byteLength())
  }
  return [...sizes].toSorted(([, one], [, other]) => other - one).map(([owner]) => owner)
}

/**
 * An answer with a list, without the parts of those who have most of it when it would not fit otherwise: nobody hides
 * what all others have. Nothing when nobody's parts fit.
 */
export const truncateToFit = <A>(
  items: ReadonlyArray<A>,
  ownerOf: (item: A) => string,
  encode: (items: ReadonlyArray<A>) => Body,
  fits: (body: Body) => boolean
): TruncatedReply | undefined => {
  const whole = encode(items)
  if (fits(whole)) return { body: whole, omitted: [] }
  const owners = ownersBySize(items, ownerOf)
  const without = (count: number): TruncatedReply => {
    const omitted = owners.slice(0, count)
    const excluded = new Set(omitted)
    return { body: encode(items.filter((item) => !excluded.has(ownerOf(item)))), omitted }
  }
  // The fewer have to go the better; that so many are enough is looked for by halves, since each look costs a message.
  let tooFew = 0
  let enough = owners.length
  let found: TruncatedReply | undefined
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
