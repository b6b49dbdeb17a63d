import type { ComputerConfig } from "../../domain/config/computerConfig.ts"
import { didYouMean } from "../repl/didYouMean.ts"

/** Warns of values for inputs that are not configured: probably typing errors. */
export const unknownInputWarnings = (
  { inputs }: ComputerConfig,
  given: { readonly [id: string]: string }
): ReadonlyArray<string> => {
  const ids = inputs.map(({ id }) => id)
  return Object.keys(given)
    .filter((id) => !ids.includes(id))
    .map((id) => `--input ${id}: unknown input${didYouMean(id, ids)}`)
}
