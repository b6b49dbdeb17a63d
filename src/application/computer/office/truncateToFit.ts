import { type Body, jsonBody } from "../../ports/Body.ts"

interface TruncatedReply {
  readonly body: Body
  readonly omitted: ReadonlyArray<string>
}

const ownersBySize = <A>(items: ReadonlyArray<A>, ownerOf: (item: A) => string): ReadonlyArray<string> => {
  const sizes = new Map<string, number>()
  for (const item of items) {
    const owner = ownerOf(item)
    sizes.set(owner, (sizes.get(owner) ?? 0) + jsonBody(item).byteLength())
  }
  return [...sizes].toSorted(([, one], [, other]) => other - one).map(([owner]) => owner)
}

/**
 * Fits a list into a reply. Omits all items of the largest owners, as few owners as possible, so that one owner cannot
 * hide the others. Gives `undefined` when the items of no owner fit.
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
  // A binary search: every attempt serializes a message.
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
