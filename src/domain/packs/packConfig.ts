import { Result, Schema } from "effect"
import { makeDecoder } from "../validation.ts"
import { isJsonObject } from "../json.ts"
import { fieldWithDefault, optionalField } from "../model/fields.ts"

/** One day. */
const maxTimeoutSeconds = 86_400
/** An isolated pack does not start with less. */
const memoryRangeMiB = { minimum: 16, maximum: 1_048_576 }
const maxConcurrency = 1024

/** YAML parses a key without a value as null, which means the same as no key. */
const fields = {
  enabled: fieldWithDefault(Schema.Boolean, () => true),
  description: fieldWithDefault(Schema.String, () => ""),
  usage: fieldWithDefault(Schema.String, () => ""),
  /** Dependencies as written; see `parsePackages`. */
  packages: fieldWithDefault(Schema.Array(Schema.String), () => []),
  /** Timeout of a call, in seconds. */
  timeout: optionalField(Schema.Finite.check(Schema.isBetween({ minimum: 0.001, maximum: maxTimeoutSeconds }))),
  /** `worker` runs the pack in a separate process. */
  isolation: optionalField(Schema.Literal("worker")),
  /** Memory limit of an isolated pack, in MiB. */
  memory: optionalField(Schema.Int.check(Schema.isBetween(memoryRangeMiB))),
  /** Concurrent calls. */
  concurrency: optionalField(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxConcurrency })))
}

/** The keys of `config.yaml` that the host reads. */
export const PackConfigFile = Schema.Struct(fields)
/** The `config.yaml` of a pack; every key is optional (seed 004 §4). */
export interface PackConfig extends Schema.Schema.Type<typeof PackConfigFile> {}

const decodeFields = makeDecoder(PackConfigFile)

/** Decodes the parsed `config.yaml`. An empty one is valid. Unknown keys only warn: the pack can read them itself. */
export const decodePackConfig = (
  input: unknown
): Result.Result<{ readonly config: PackConfig; readonly warnings: ReadonlyArray<string> }, string> => {
  const values = input ?? {}
  if (!isJsonObject(values)) return Result.fail("it must be a mapping, such as 'enabled: true'")
  const unknown = Object.keys(values).filter((key) => !Object.hasOwn(fields, key))
  return Result.map(decodeFields(values), (config) => ({
    config,
    warnings: unknown.map((key) => `config.yaml: unknown key '${key}' is ignored by the host`)
  }))
}
