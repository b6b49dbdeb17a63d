import { didYouMean } from "../config/didYouMean.ts"
import { lineNames } from "../../domain/wire/lines.ts"
import { A2cError } from "./A2cError.ts"

const protocols: ReadonlyArray<unknown> = [...lineNames, "auto"]

const listOf = (names: ReadonlyArray<unknown>) => ({
  text: `an array of ${names.join(" or ")}`,
  test: (value: unknown) => Array.isArray(value) && value.every((item) => names.includes(item))
})

const kinds = {
  string: { text: "a string", test: (value: unknown) => typeof value === "string" },
  object: {
    text: "an object",
    test: (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value)
  },
  boolean: { text: "a boolean", test: (value: unknown) => typeof value === "boolean" },
  function: { text: "a function", test: (value: unknown) => typeof value === "function" },
  number: { text: "a number", test: (value: unknown) => typeof value === "number" && !Number.isNaN(value) },
  strings: {
    text: "an array of strings",
    test: (value: unknown) => Array.isArray(value) && value.every((item) => typeof item === "string")
  },
  protocol: { text: protocols.join(" or "), test: (value: unknown) => protocols.includes(value) },
  lines: listOf(lineNames),
  transports: listOf(["polling", "websocket"]),
  page: {
    text: "an object or false",
    test: (value: unknown) => value === false || (typeof value === "object" && value !== null)
  },
  token: {
    text: "a string or a function",
    test: (value: unknown) => typeof value === "string" || typeof value === "function"
  },
  bytes: { text: "a Uint8Array", test: (value: unknown) => value instanceof Uint8Array },
  authenticate: {
    text: 'a function or "allowAll"',
    test: (value: unknown) => typeof value === "function" || value === "allowAll"
  }
} as const

type Kind = keyof typeof kinds

/** A required argument: its kind, or the kinds of the required members of an object. */
export type ArgumentCheck = Kind | { readonly [member: string]: Kind }

const describeValue = (value: unknown): string => {
  if (value === undefined) return "missing"
  return value === null ? "null" : `of type ${Array.isArray(value) ? "array" : typeof value}`
}

const problemOf = (what: string, kind: Kind, value: unknown): string | undefined =>
  kinds[kind].test(value) ? undefined : `${what} must be ${kinds[kind].text}, but it is ${describeValue(value)}`

const argumentProblem = (check: ArgumentCheck, position: number, value: unknown): string | undefined => {
  const what = `argument ${position + 1}`
  if (typeof check === "string") return problemOf(what, check, value)
  const members = Object.entries(check)
  return (
    problemOf(what, "object", value) ??
    members
      .map(([name, kind]) => problemOf(`'${name}'`, kind, Reflect.get(Object(value), name)))
      .find((problem) => problem !== undefined)
  )
}

/** Throws an error that names the first missing or wrong argument: plain JavaScript has no types. */
export const checkArguments = (
  name: string,
  checks: ReadonlyArray<ArgumentCheck>,
  args: ReadonlyArray<unknown>
): void => {
  for (const [position, check] of checks.entries()) {
    const problem = argumentProblem(check, position, args[position])
    if (problem !== undefined) throw new A2cError("config_invalid", `${name}: ${problem}`)
  }
}

/** The kinds of all options of an object, or their own options. */
interface OptionChecks {
  readonly [option: string]: Kind | OptionChecks
}

/** {@link OptionChecks} for a type, which must name each of its options. */
export type ChecksOf<Options> = { readonly [Option in keyof Options]-?: Kind | OptionChecks }

const optionProblem = (checks: OptionChecks, options: object, path = ""): string | undefined => {
  for (const [option, value] of Object.entries(options)) {
    if (value === undefined) continue
    const what = `'${path}${option}'`
    const check = Object.hasOwn(checks, option) ? checks[option] : undefined
    if (check === undefined) return `there is no option ${what}${didYouMean(option, Object.keys(checks))}`
    const problem =
      typeof check === "string"
        ? problemOf(what, check, value)
        : (problemOf(what, "object", value) ?? optionProblem(check, Object(value), `${path}${option}.`))
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Throws an error that names the first option which does not exist or is wrong. */
export const checkOptions = (name: string, checks: OptionChecks, options: object): void => {
  const problem = optionProblem(checks, options)
  if (problem !== undefined) throw new A2cError("config_invalid", `${name}: ${problem}`)
}

type Checks<Service> = { readonly [Method in keyof Service]?: ReadonlyArray<ArgumentCheck> }

/** Checks the arguments of methods before they run. A promise rejects, an iterable throws at once. */
export const withCheckedArguments = <Service extends object>(
  service: Service,
  checks: Checks<Service>,
  iterables: ReadonlyArray<keyof Service> = []
): Service => {
  const checked = Object.entries<ReadonlyArray<ArgumentCheck> | undefined>(checks).map(([name, list = []]) => {
    const method: unknown = Reflect.get(service, name)
    const run = (...args: ReadonlyArray<unknown>): unknown => {
      checkArguments(name, list, args)
      return typeof method === "function" ? Reflect.apply(method, service, args) : undefined
    }
    const isIterable = iterables.some((iterable) => iterable === name)
    return [name, isIterable ? run : async (...args: ReadonlyArray<unknown>) => run(...args)] as const
  })
  return { ...service, ...Object.fromEntries(checked) }
}
