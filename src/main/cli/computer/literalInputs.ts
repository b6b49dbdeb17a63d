import type { Effect } from "effect"
import type { ComputerConfig } from "../../../domain/config/computerConfig.ts"
import { warnOfLiteralSecrets } from "../flags/secretFlags.ts"
import type { ComputerCommandOptions } from "./flags.ts"

/** Warns of literal values of inputs. The options of a `pickString` stand in the configuration and are no secrets. */
export const warnOfLiteralInputs = (
  { inputs }: ComputerConfig,
  given: ComputerCommandOptions["inputs"]
): Effect.Effect<void> =>
  warnOfLiteralSecrets(
    Object.fromEntries(inputs.flatMap(({ id, type }) => (type === "pickString" ? [] : [[id, given[id]]])))
  )
