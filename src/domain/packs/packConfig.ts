import { Result, Schema } from "effect"
import { makeDecoder } from "../validation.ts"
import { isJsonObject } from "../json.ts"

/** The `config.yaml` of a pack; every key is optional (seed 004 §4). */
export interface PackConfig {
  readonly enabled: boolean
  readonly description: string
  readonly usage: string
  /** Dependencies as written; see `parsePackages`. */
  readonly packages: ReadonlyArray<string>
  /** Timeout of a call, in seconds. */
  readonly timeout?: number
  /** `worker` runs the pack in a separate process. */
  readonly isolation?: "worker"
  /** Memory limit of an isolated pack, in MiB. */
  readonly memory?: number
  /** Concurrent calls. */
  readonly concurrency?: number
}

export interface DecodedPackConfig {
  readonly config: PackConfig
  readonly warnings: ReadonlyArray<string>
}

/** One day. */
const maxTimeoutSeconds = 86_400
/** An isolated pack does not start with less. */
const memoryRangeMiB = { minimum: 16, maximum: 1_048_576 }
const maxConcurrency = 1024

/** YAML parses a key without a value as null, which means the same as no key. */
const nullableKey = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const fields = {
  enabled: nullableKey(Schema.Boolean),
  description: nullableKey(Schema.String),
  usage: nullableKey(Schema.String),
  packages: nullableKey(Schema.Array(Schema.String)),
  timeout: nullableKey(Schema.Finite.check(Schema.isBetween({ minimum: 0.001, maximum: maxTimeoutSeconds }))),
  isolation: nullableKey(Schema.Literal("worker")),
  memory: nullableKey(Schema.Int.check(Schema.isBetween(memoryRangeMiB))),
  concurrency: nullableKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxConcurrency })))
}

const decodeFields = makeDecoder(Schema.Struct(fields))

/**
 * Decodes the parsed `config.yaml`, or says in one line what is invalid. An empty file is valid. Unknown keys cause a
 * warning only: the pack can read them itself.
 */
export const decodePackConfig = (input: unknown): Result.Result<DecodedPackConfig, string> => {
  const values = input ?? {}
  if (!isJsonObject(values)) return Result.fail("it must be a mapping, such as 'enabled: true'")
  return Result.map(decodeFields(values), (decoded) => {
    const { concurrency, description, enabled, isolation, memory, packages, timeout, usage } = decoded
    const unknown = Object.keys(values).filter((key) => !Object.hasOwn(fields, key))
    return {
      config: {
        enabled: enabled ?? true,
        description: description ?? "",
        usage: usage ?? "",
        packages: packages ?? [],
        ...(typeof timeout === "number" && { timeout }),
        ...(typeof isolation === "string" && { isolation }),
        ...(typeof memory === "number" && { memory }),
        ...(typeof concurrency === "number" && { concurrency })
      },
      warnings: unknown.map((key) => `config.yaml: unknown key '${key}' is ignored by the host`)
    }
  })
}
