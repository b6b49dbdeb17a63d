import type { PageBatch, PageCall, PageMember, PageNode } from "../../../src/domain/page/PageEvent.ts"

/** What a snapshot lists. */
export interface SnapshotParts {
  readonly members: ReadonlyArray<PageMember>
  readonly calls: ReadonlyArray<PageCall>
  readonly nodes: ReadonlyArray<PageNode>
}

/** The lists of a snapshot. */
export const partsOf = ({ events }: PageBatch): SnapshotParts => ({
  members: events.flatMap((event) => (event._tag === "Entered" ? [event.member] : [])),
  calls: events.flatMap((event) => (event._tag === "Call" ? [event.call] : [])),
  nodes: events.flatMap((event) => (event._tag === "Node" ? [event.node] : []))
})
