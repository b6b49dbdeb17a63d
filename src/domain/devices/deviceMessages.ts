import { Predicate, Result, Schema } from "effect"
import { makeDecoder } from "../validation.ts"
import { errorMessage } from "../errorMessage.ts"
import { checkJsonBody, JsonObject, parseJsonOrThrow } from "../json.ts"
import type { DeviceService } from "./serviceDefinitions.ts"
import { fieldWithDefault } from "../model/fields.ts"
import { decodeUtf8 } from "../utf8.ts"

/** Outcome of a service call (seed 002 §5.2). */
export type ServiceOutcome =
  | { readonly success: true; readonly data: unknown }
  | { readonly success: false; readonly error: string }

/** Message of an MCP frame (seed 002 §3, §4). */
export type DeviceMessage =
  /** `duplicates`: names that occur more than once; the last definition counts (seed 002 §6.1). */
  | { readonly _tag: "Register"; readonly definitions: JsonObject; readonly duplicates: ReadonlyArray<string> }
  | { readonly _tag: "Call"; readonly callId: string; readonly method: string; readonly params: JsonObject }
  | { readonly _tag: "Result"; readonly callId: string; readonly outcome: ServiceOutcome }
  /** Result of a registration. Not part of the AI降临派 protocol; sent only with `acknowledgeRegistration`. */
  | { readonly _tag: "Registered"; readonly services: number; readonly faults: ReadonlyArray<string> }
  | { readonly _tag: "Unknown"; readonly type: string }

/** Some peers send numbers. */
const CallIdSchema = Schema.Union([Schema.NonEmptyString, Schema.Finite])

const decodeEnvelope = makeDecoder(Schema.Struct({ type: Schema.String, data: Schema.optionalKey(JsonObject) }))
const decodeRegister = makeDecoder(Schema.Struct({ services: JsonObject }))
const callFields = { method: Schema.NonEmptyString, params: fieldWithDefault(JsonObject, () => ({})) }
const decodeCall = makeDecoder(Schema.Struct({ call_id: CallIdSchema, ...callFields }))
const decodeResult = makeDecoder(Schema.Struct({ call_id: CallIdSchema, result: JsonObject }))
const decodeRegistered = makeDecoder(Schema.Struct({ services: Schema.Int, faults: Schema.Array(Schema.String) }))

/** Without `success`, the result is a success if it has no error. */
const toOutcome = ({ data, error, success }: JsonObject): ServiceOutcome => {
  const hasNoError = Predicate.isNullish(error) || error === ""
  if (typeof success === "boolean" ? success : hasNoError) return { success: true, data }
  if (hasNoError) return { success: false, error: "the service failed without a message" }
  return { success: false, error: typeof error === "string" ? error : JSON.stringify(error) }
}

/**
 * String delimiters, escapes and structural characters of JSON. A pattern that matches whole strings would repeat an
 * alternative, which overflows the stack on a long string.
 */
const jsonStructure = /\\.|["{}[\]:]/g

/** Finds duplicate names in `data.services` of a registration; the text must be valid JSON. */
const findDuplicateServices = (text: string): ReadonlyArray<string> => {
  const path: Array<string> = []
  const seen = new Set<string>()
  const duplicates = new Set<string>()
  let key = ""
  let lastString = ""
  let stringStart: number | undefined
  for (const { 0: found, index } of text.matchAll(jsonStructure)) {
    if (found === '"') {
      if (stringStart !== undefined) lastString = text.slice(stringStart, index + 1)
      stringStart = stringStart === undefined ? index : undefined
    } else if (stringStart !== undefined) continue
    else if (found === "{" || found === "[") path.push(key)
    else if (found === "}" || found === "]") path.pop()
    else {
      key = String(parseJsonOrThrow(lastString))
      // The outermost object has no name; the key before it is empty.
      if (path.length === 3 && path[1] === "data" && path[2] === "services") {
        if (seen.has(key)) duplicates.add(key)
        seen.add(key)
      }
    }
  }
  return [...duplicates]
}

type DecodeData = (data: JsonObject, text: string) => Result.Result<DeviceMessage, string>

const decoders: { readonly [type: string]: DecodeData } = {
  register: (data, text) =>
    Result.map(decodeRegister(data), ({ services: definitions }) => {
      return { _tag: "Register", definitions, duplicates: findDuplicateServices(text) }
    }),
  call: (data) =>
    Result.map(decodeCall(data), ({ call_id: id, ...call }) => ({ _tag: "Call", callId: String(id), ...call })),
  result: (data) =>
    Result.map(decodeResult(data), ({ call_id: id, result }) => {
      return { _tag: "Result", callId: String(id), outcome: toOutcome(result) }
    }),
  registered: (data) => Result.map(decodeRegistered(data), (fields) => ({ _tag: "Registered", ...fields }))
}

/** Decodes the payload of an MCP frame, or says in one line why it is invalid. */
export const decodeDeviceMessage = (payload: Uint8Array): Result.Result<DeviceMessage, string> =>
  Result.gen(function* () {
    const text = yield* Result.fromOption(decodeUtf8(payload), () => "not UTF-8")
    const value = yield* Result.try({
      try: () => parseJsonOrThrow(text),
      catch: (error) => `not JSON: ${errorMessage(error)}`
    })
    const error = checkJsonBody(value)
    if (error !== undefined) return yield* Result.fail(error)
    const { data = {}, type } = yield* decodeEnvelope(value)
    const decode = Object.hasOwn(decoders, type) ? decoders[type] : undefined
    if (decode === undefined) return { _tag: "Unknown", type }
    return yield* Result.mapError(decode(data, text), (reason) => `${type}: ${reason}`)
  })

/** Makes messages for the wire; members are in the order of the published examples. */
export const makeDeviceMessage = {
  register: (services: ReadonlyMap<string, DeviceService>): JsonObject => {
    const entries = [...services].map(([name, { description, parameters }]) => [name, { description, parameters }])
    return { type: "register", data: { services: Object.fromEntries(entries) } }
  },
  call: (callId: string, method: string, params: JsonObject): JsonObject => ({
    type: "call",
    data: { call_id: callId, method, params }
  }),
  result: (callId: string, outcome: ServiceOutcome): JsonObject => ({
    type: "result",
    data: { call_id: callId, result: outcome.success ? { success: true, data: outcome.data ?? null } : { ...outcome } }
  }),
  registered: (services: number, faults: ReadonlyArray<string>): JsonObject => ({
    type: "registered",
    data: { services, faults }
  })
}
