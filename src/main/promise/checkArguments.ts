import { isServerUrl } from "../../adapters/socketio/client/serverAddress.ts"
import { maxTimerMillis } from "../../application/ports/Transport.ts"
import { mcpRevisions } from "../../domain/config/endpointParameters.ts"
import { errorMessage } from "../../domain/errorMessage.ts"
import { maxIdentifierLength } from "../../domain/model/fields.ts"
import { lineNames } from "../../domain/wire/lines.ts"
import { didYouMean } from "../config/didYouMean.ts"
import { A2cError } from "../A2cError.ts"

/** A kind of values: its words in errors, and its test. */
export interface KindRow {
  readonly text: string
  readonly test: (value: unknown) => boolean
}

export const kindOf = (text: string, test: KindRow["test"]): KindRow => ({ text, test })

export const oneOf = (...values: ReadonlyArray<unknown>): KindRow =>
  kindOf(values.join(" or "), (value) => values.includes(value))

export const arrayOf = (item: KindRow, text = `an array of ${item.text}`): KindRow =>
  kindOf(text, (value) => Array.isArray(value) && value.every(item.test))

/** A list that permits nothing when it is empty. */
export const notEmpty = ({ test, text }: KindRow, full = `${text} that is not empty`): KindRow =>
  kindOf(full, (value) => test(value) && Array.isArray(value) && value.length > 0)

const typeOf = (type: "string" | "boolean" | "function"): KindRow =>
  kindOf(`a ${type}`, (value) => typeof value === type)

export const texts = (text: string, test: (value: string) => boolean): KindRow =>
  kindOf(text, (value) => typeof value === "string" && test(value))

const numbers = (text: string, test: (value: number) => boolean): KindRow =>
  kindOf(text, (value) => typeof value === "number" && test(value))

export const integers = (min: number, max: number): KindRow =>
  numbers(`an integer from ${min} to ${max}`, (value) => Number.isInteger(value) && value >= min && value <= max)

const either = (one: KindRow, other: KindRow): KindRow =>
  kindOf(`${one.text} or ${other.text}`, (value) => one.test(value) || other.test(value))

/** An object with these methods: one of a class. */
export const instance = (text: string, ...methods: ReadonlyArray<string>): KindRow =>
  kindOf(
    text,
    (value) =>
      typeof value === "object" &&
      value !== null &&
      methods.every((method) => typeof Reflect.get(value, method) === "function")
  )

/** True for an object of members, also of a class or another realm. A `Map`, `Headers` or `URL` has no members. */
const hasMembers = (value: unknown): boolean => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null || Object.keys(value).length > 0
}

const string = typeOf("string")
const fn = typeOf("function")

/** True for a value that a message can carry: a cycle or a `BigInt` would throw where nothing catches it. */
const isJson = (value: unknown): boolean => {
  try {
    return JSON.stringify(value) !== undefined
  } catch {
    return false
  }
}

/** True for a header that Node sends. */
const isHeader = ([name, value]: readonly [string, unknown]): boolean =>
  /^[\w!#$%&'*+.^`|~-]+$/.test(name) && typeof value === "string" && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)

const kinds = {
  string,
  boolean: typeOf("boolean"),
  function: fn,
  text: texts("a string that is not empty", (value) => value !== ""),
  strings: arrayOf(string, "an array of strings"),
  json: kindOf("a JSON value", isJson),
  headers: kindOf(
    "an object of strings, with names and values that HTTP permits",
    (value) => hasMembers(value) && Object.entries(Object(value)).every(isHeader)
  ),
  identifier: texts(
    `a string of 1 to ${maxIdentifierLength} characters`,
    (value) => value !== "" && value.length <= maxIdentifierLength
  ),
  object: kindOf("an object", hasMembers),
  objects: arrayOf(kindOf("an object", hasMembers), "an array of objects"),
  policy: either(fn, kindOf("an object of rules", hasMembers)),
  serverUrl: texts("a URL with the scheme http, https, ws or wss", isServerUrl),
  documentUrl: texts("a URL with the scheme https and a path", (value) => /^https:\/\/[^/]+\/./.test(value)),
  mcpRevision: oneOf(...mcpRevisions),
  namespace: texts("a string that begins with a slash", (value) => value.startsWith("/")),
  port: integers(0, 65_535),
  count: integers(0, Number.MAX_SAFE_INTEGER),
  positive: integers(1, Number.MAX_SAFE_INTEGER),
  interval: integers(1, maxTimerMillis),
  limit: numbers("a number above 0, such as Infinity for no limit", (value) => value > 0),
  millis: numbers("a number from 0", (value) => value >= 0),
  seconds: numbers("a number above 0", (value) => value > 0),
  inputValue: either(string, either(numbers("a number", Number.isFinite), typeOf("boolean"))),
  protocol: oneOf(...lineNames, "auto"),
  transports: notEmpty(arrayOf(oneOf("polling", "websocket"))),
  toolList: oneOf("all", "search", "auto"),
  lifecycle: oneOf("eager", "lazy"),
  blobs: oneOf("fetch", "keep"),
  approvers: arrayOf(oneOf("page", "agent")),
  role: oneOf("agent", "computer"),
  page: either(kindOf("an object", hasMembers), oneOf(false)),
  token: either(string, fn),
  data: kindOf("a Uint8Array", (value) => value instanceof Uint8Array),
  stream: instance("a Stream of Effect", "pipe"),
  signal: instance("an AbortSignal", "addEventListener", "removeEventListener")
} satisfies { readonly [kind: string]: KindRow }

export type Kind = keyof typeof kinds

/** The members of an object; `*` stands for any other. A kind in an array is required. */
export interface OptionChecks {
  readonly [option: string]: Kind | KindRow | readonly [Kind | KindRow] | OptionChecks
}

/** {@link OptionChecks} for a type, which must name each of its options. */
export type ChecksOf<Options> = { readonly [Option in keyof Options]-?: OptionChecks[string] }

/** An argument: its kind, or its members. */
export type ArgumentCheck = Kind | OptionChecks

export const describeValue = (value: unknown): string => {
  if (value === undefined) return "missing"
  if (value === "") return "empty"
  if (typeof value === "number" || value === null) return String(value)
  if (Array.isArray(value)) return value.length === 0 ? "an empty array" : "of type array"
  const className = typeof value === "object" ? value?.constructor?.name : undefined
  return `of type ${className === undefined || className === "Object" ? typeof value : className}`
}

const problemOf = (what: string, kind: Kind | KindRow, value: unknown): string | undefined => {
  const { test, text } = typeof kind === "string" ? kinds[kind] : kind
  return test(value) ? undefined : `${what} must be ${text}, but it is ${describeValue(value)}`
}

const isRequired = (check: OptionChecks[string] | undefined): check is readonly [Kind | KindRow] => Array.isArray(check)

const isKindRow = (check: object): check is KindRow => typeof Reflect.get(check, "test") === "function"

/** A value that has members is checked to its last one; their names follow `prefix`. */
const valueProblem = (what: string, check: OptionChecks[string], value: unknown, prefix: string) => {
  if (isRequired(check)) return problemOf(what, check[0], value)
  if (typeof check === "string" || isKindRow(check)) return problemOf(what, check, value)
  return problemOf(what, "object", value) ?? optionProblem(check, Object(value), prefix)
}

/** The first option that does not exist, is wrong or is missing. */
const optionProblem = (checks: OptionChecks, options: object, prefix = ""): string | undefined => {
  const required = Object.keys(checks).filter((option) => isRequired(checks[option]))
  for (const option of new Set([...Object.keys(options), ...required])) {
    const path = `${prefix}${option}`
    const check = Object.hasOwn(checks, option) ? checks[option] : checks["*"]
    try {
      const value: unknown = Reflect.get(options, option)
      if (value === undefined && !isRequired(check)) continue
      const problem =
        check === undefined
          ? `there is no option '${path}'${didYouMean(option, Object.keys(checks))}`
          : valueProblem(`'${path}'`, check, value, `${path}.`)
      if (problem !== undefined) return problem
    } catch (error) {
      return `'${path}' cannot be read: ${errorMessage(error)}`
    }
  }
  return undefined
}

const reject = (name: string, problem: string): never => {
  throw new A2cError("config_invalid", `${name}: ${problem}`)
}

/** Throws an error that names the first missing, wrong or unknown option: plain JavaScript has no types. */
export const checkOptions = (name: string, checks: OptionChecks, options: object, prefix = ""): void => {
  const problem = optionProblem(checks, options, prefix)
  if (problem !== undefined) reject(name, problem)
}

/** Throws an error that names the first missing or wrong argument, or its option. */
export const checkArguments = (name: string, checks: ReadonlyArray<ArgumentCheck>, args: ReadonlyArray<unknown>) => {
  for (const [position, check] of checks.entries()) {
    const problem = valueProblem(`argument ${position + 1}`, check, args[position], "")
    if (problem !== undefined) reject(name, problem)
  }
}

/** Throws an error unless the last argument of a function is an object with a signal, or missing. */
export const checkCancellable = (options: unknown): void => {
  const problem =
    typeof options === "object" && options !== null
      ? optionProblem({ signal: "signal" }, { signal: Reflect.get(options, "signal") })
      : `the last argument must be an object, but it is ${describeValue(options)}`
  if (problem !== undefined) throw new A2cError("config_invalid", problem)
}
