import { Option, Result, Schema } from "effect"
import { decoder } from "../explain.ts"
import { bodyFault, JsonObject } from "../json.ts"
import type { Service } from "./services.ts"
import { decodeUtf8 } from "../utf8.ts"

/** What a service gave: data, or why there is none (seed 002 §5.2). */
export type Outcome =
  | { readonly success: true; readonly data: unknown }
  | { readonly success: false; readonly error: string }

/** What goes over the wire in frames of type MCP (seed 002 §3, §4). */
export type DeviceMessage =
  | {
      readonly _tag: "Register"
      /** Not read yet: each definition by the name of its service. */
      readonly definitions: JsonObject
      /** Names that stand there more than once; the last definition counts (seed 002 §6.1). */
      readonly repeated: ReadonlyArray<string>
    }
  | {
      readonly _tag: "Call"
      readonly callId: string
      readonly method: string
      readonly params: JsonObject
    }
  | { readonly _tag: "Result"; readonly callId: string; readonly outcome: Outcome }
  /** What became of a registration: not of the seed, sent only where somebody has switched it on. */
  | { readonly _tag: "Registered"; readonly services: number; readonly faults: ReadonlyArray<string> }
  /** Of a type that nobody here knows. */
  | { readonly _tag: "Unknown"; readonly type: string }

/** Peers write numbers, too. */
const CallId = Schema.Union([Schema.NonEmptyString, Schema.Finite])

const readEnvelope = decoder(Schema.Struct({ type: Schema.String, data: Schema.optionalKey(JsonObject) }))
const readRegister = decoder(Schema.Struct({ services: JsonObject }))
const readCall = decoder(
  Schema.Struct({
    call_id: CallId,
    method: Schema.NonEmptyString,
    params: Schema.optionalKey(Schema.NullOr(JsonObject))
  })
)
const readResult = decoder(Schema.Struct({ call_id: CallId, result: JsonObject }))
const readRegistered = decoder(Schema.Struct({ services: Schema.Int, faults: Schema.Array(Schema.String) }))

const isNothing = (value: unknown): boolean => value === undefined || value === null

/** An error in whatever form a peer gave it, as a text. */
const errorText = (error: unknown): string => {
  if (isNothing(error) || error === "") return "the service failed and did not say why"
  return typeof error === "string" ? error : JSON.stringify(error)
}

/** The result of a service; one that does not say whether it succeeded did so if it names no error. */
const outcomeOf = ({ data, error, success }: JsonObject): Outcome => {
  const isGood = typeof success === "boolean" ? success : isNothing(error) || error === ""
  return isGood ? { success: true, data } : { success: false, error: errorText(error) }
}

/**
 * What ends a string of a JSON text, or could be taken for it, and the marks of its structure. Strings are not matched as
 * a whole, since an expression that repeats an alternative runs out of stack on a long one.
 */
const mark = /\\.|["{}[\]:]/g

/** The names that stand more than once in `data.services` of a registration, which must be good JSON. */
const repeatedServices = (text: string): ReadonlyArray<string> => {
  const path: Array<string> = []
  const seen = new Set<string>()
  const repeated = new Set<string>()
  let key = ""
  let last = ""
  /** Where the string that has begun begins. */
  let begun: number | undefined
  for (const { 0: found, index } of text.matchAll(mark)) {
    if (found === '"') {
      if (begun !== undefined) last = text.slice(begun, index + 1)
      begun = begun === undefined ? index : undefined
    } else if (begun !== undefined) continue
    else if (found === "{" || found === "[") path.push(found === "[" ? "[" : key)
    else if (found === "}" || found === "]") path.pop()
    else {
      key = String(JSON.parse(last))
      // The outermost object has no name; the key before it is empty.
      if (path.length === 3 && path[1] === "data" && path[2] === "services") {
        if (seen.has(key)) repeated.add(key)
        seen.add(key)
      }
    }
  }
  return [...repeated]
}

const readData = (type: string, data: JsonObject, text: string): Result.Result<DeviceMessage, string> => {
  switch (type) {
    case "register":
      return Result.map(readRegister(data), ({ services }) => ({
        _tag: "Register",
        definitions: services,
        repeated: repeatedServices(text)
      }))
    case "call":
      return Result.map(readCall(data), ({ call_id, method, params }) => ({
        _tag: "Call",
        callId: String(call_id),
        method,
        params: params ?? {}
      }))
    case "result":
      return Result.map(readResult(data), ({ call_id, result }) => ({
        _tag: "Result",
        callId: String(call_id),
        outcome: outcomeOf(result)
      }))
    case "registered":
      return Result.map(readRegistered(data), (fields) => ({ _tag: "Registered", ...fields }))
    default:
      return Result.succeed({ _tag: "Unknown", type })
  }
}

const parse = (text: string): Result.Result<unknown, string> =>
  Result.try({
    try: (): unknown => JSON.parse(text),
    catch: (error) => `not JSON: ${error instanceof Error ? error.message : String(error)}`
  })

const readText = (text: string): Result.Result<DeviceMessage, string> =>
  parse(text).pipe(
    Result.flatMap((value) => {
      const fault = bodyFault(value)
      return fault === undefined ? readEnvelope(value) : Result.fail(fault)
    }),
    Result.flatMap(({ data = {}, type }) =>
      Result.mapError(readData(type, data, text), (why) => `${type}: ${why}`)
    )
  )

/** Reads what an MCP frame carries, or says in one line what is wrong with it. */
export const readMessage = (payload: Uint8Array): Result.Result<DeviceMessage, string> =>
  Option.match(decodeUtf8(payload), { onNone: () => Result.fail("not UTF-8"), onSome: readText })

/** A message as it is written on the wire, in the order of the seed's examples. */
export const messageOf = {
  register: (services: ReadonlyMap<string, Service>): JsonObject => ({
    type: "register",
    data: {
      services: Object.fromEntries(
        [...services].map(([name, { description, parameters }]) => [name, { description, parameters }])
      )
    }
  }),
  call: (callId: string, method: string, params: JsonObject): JsonObject => ({
    type: "call",
    data: { call_id: callId, method, params }
  }),
  result: (callId: string, outcome: Outcome): JsonObject => ({
    type: "result",
    data: {
      call_id: callId,
      result: outcome.success ? { success: true, data: outcome.data ?? null } : { ...outcome }
    }
  }),
  registered: (services: number, faults: ReadonlyArray<string>): JsonObject => ({
    type: "registered",
    data: { services, faults }
  })
}
