import type { Version } from "./version.ts"
import { line as v0_2 } from "./v0_2/line.ts"

/** Everything that is spelled for the wire. Whoever holds a connection holds its line, and tests no version. */
export type ProtocolLine = typeof v0_2

/** The line that a connection of this version speaks; the version gate let it in. */
export const lineForVersion = (_version: Version): ProtocolLine => v0_2
