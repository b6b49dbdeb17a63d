import { Data } from "effect"

/** A call took longer than it may. */
export class PackTimeout extends Data.TaggedError("PackTimeout")<{ readonly message: string }> {}

/** Too many calls of a pack run and wait already. */
export class PackBusy extends Data.TaggedError("PackBusy")<{ readonly message: string }> {}
