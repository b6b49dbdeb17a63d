import { Option, Predicate } from "effect"
import { variableInHelp } from "./setting.ts"

/** A flag as its command declares it. */
export interface FlagDescription {
  readonly name: string
  readonly help: string
  readonly isBoolean: boolean
  readonly isList: boolean
  readonly variable: string | undefined
}

/** The properties of a flag below its checks, defaults and fallbacks; `undefined` without a flag. */
export const describeFlag = (param: unknown, isList = false): FlagDescription | undefined => {
  if (Predicate.hasProperty(param, "param")) {
    return describeFlag(param.param, isList || Predicate.isTagged(param, "Variadic"))
  }
  if (!Predicate.hasProperty(param, "name") || !Predicate.hasProperty(param, "primitiveType")) return undefined
  const { name, primitiveType } = param
  const description = Predicate.hasProperty(param, "description") ? param.description : undefined
  const help = Option.isOption(description) ? String(Option.getOrElse(description, () => "")) : ""
  const isBoolean = Predicate.isTagged(primitiveType, "Boolean")
  return { name: String(name), help, isBoolean, isList, variable: variableInHelp(help) }
}
