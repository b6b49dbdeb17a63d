import { byCodePoints } from "../utf8.ts"
/**
 * Groups items by their server and orders the groups for the Agent: the most recently used server first, then the
 * others by name (seed 001, step 2). `history` names the server of each call, oldest first.
 */
export const groupByServer = <A extends { readonly server: string }>(
  items: ReadonlyArray<A>,
  history: ReadonlyArray<string>
): ReadonlyArray<ReadonlyArray<A>> => {
  const groups = Map.groupBy(items, ({ server }) => server)
  const order = new Set([...history.toReversed(), ...[...groups.keys()].sort(byCodePoints)])
  return [...order].map((server) => groups.get(server)).filter((group) => group !== undefined)
}
