import { Context } from "effect"
import { type Lines, linesNamed } from "../../domain/wire/lines.ts"
import type { ServedVersions } from "../../domain/wire/version.ts"

/** The protocol lines that a Server serves; all of them by default. */
export const ServedLines = Context.Reference<Lines>("a2c-smcp/application/ports/ServedLines", {
  defaultValue: () => linesNamed()
})

/** The versions of lines, for the check of a handshake. */
export const versionsOf = ([first, ...others]: Lines): ServedVersions => [
  first.version,
  ...others.map(({ version }) => version)
]
