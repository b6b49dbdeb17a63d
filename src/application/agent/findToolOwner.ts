import { Data, Effect } from "effect"
import type { OfficeView } from "./OfficeView.ts"

/** No Computer, or more than one, has a tool of this name. */
export class AmbiguousTool extends Data.TaggedError("AmbiguousTool")<{
  readonly tool: string
  /** The Computers that have the tool. */
  readonly owners: ReadonlyArray<string>
}> {
  override get message(): string {
    const tool = JSON.stringify(this.tool)
    return this.owners.length === 0
      ? `No Computer of this office has a tool ${tool}`
      : `Several Computers have a tool ${tool}: name one of ${this.owners.join(", ")}`
  }
}

const ownersOf = ({ computers }: OfficeView, tool: string): ReadonlyArray<string> =>
  [...computers].flatMap(([name, { tools }]) => (tools?.some((known) => known.name === tool) ? [name] : []))

/** Finds the one Computer that has the tool. Refreshes the view once when it has no owner or lacks a tool list. */
export const findToolOwner = Effect.fnUntraced(function* (
  tool: string,
  currentView: Effect.Effect<OfficeView>,
  refreshedView: Effect.Effect<OfficeView>
): Effect.fn.Return<string, AmbiguousTool> {
  const first = yield* currentView
  const isConclusive =
    ownersOf(first, tool).length > 0 && [...first.computers.values()].every(({ tools }) => tools !== undefined)
  const owners = ownersOf(isConclusive ? first : yield* refreshedView, tool).toSorted()
  const [owner, ...others] = owners
  return owner !== undefined && others.length === 0 ? owner : yield* new AmbiguousTool({ tool, owners })
})
