import type { ComputerConfig } from "../../domain/config/computerConfig.ts"
import { didYouMean } from "../repl/didYouMean.ts"

/** What there is to say about values that were given for inputs nobody has configured: most likely a slip. */
export const unknownInputWarnings = (
  { inputs }: ComputerConfig,
  given: { readonly [id: string]: string }
): ReadonlyArray<string> => {
  const ids = inputs.map(({ id }) => id)
  return Object.keys(given)
    .filter((id) => !ids.includes(id))
    .map((id) => `--input ${id}: no input of this id is configured${didYouMean(id, ids)}`)
}
