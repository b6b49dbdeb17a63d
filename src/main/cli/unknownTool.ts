import { Effect } from "effect"
import { formatSome } from "../../domain/errorMessage.ts"
import { ownCodes } from "../A2cError.ts"
import { CommandFailed } from "../CommandFailed.ts"
import { didYouMean } from "../config/didYouMean.ts"

/** Fails for a name that no tool at a place has: with a similar name, else with the names and the reason why one may be missing. */
export const failUnknownTool = (tool: string, place: string, names: ReadonlyArray<string>, reason = "") => {
  const others = names.length === 0 ? "" : `; there are ${formatSome(names)}`
  const message = `No tool '${tool}' is ${place}${didYouMean(tool, names) || others + reason}`
  return Effect.fail(new CommandFailed({ message, code: ownCodes.UnknownTool }))
}
