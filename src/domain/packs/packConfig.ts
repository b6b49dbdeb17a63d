import { Result, Schema } from "effect"
import { makeDecoder } from "../validation.ts"
import { isJsonObject } from "../json.ts"

/** What the `config.yaml` of a pack says; all of it may be left out (seed 004 §4). */
export interface PackConfig {
  /** Is it to be loaded? */
  readonly enabled: boolean
  readonly description: string
  readonly usage: string
  /** What it depends on, as it is written there: see `readPackages`. */
  readonly packages: ReadonlyArray<string>
  /** How long a call may take, in seconds. */
  readonly timeout?: number
  /** `worker`: it runs apart from everything else, and can be killed. */
  readonly isolation?: "worker"
  /** How much memory it may take when it runs apart, in MiB. */
  readonly memory?: number
  /** How many calls may run at once. */
  readonly concurrency?: number
}

/** A configuration, and what is odd about it, in words. */
export interface DecodedPackConfig {
  readonly config: PackConfig
  readonly warnings: ReadonlyArray<string>
}

/** A day, in seconds: whoever waits longer has forgotten the call. */
const maxTimeoutSeconds = 86_400

/** Less than this, in MiB, and no worker starts; more is beyond what machines have. */
const memoryRangeMiB = { minimum: 16, maximum: 1_048_576 }

const maxConcurrency = 1024

/** YAML makes null of a key without a value; that is as good as no key. */
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
 * Reads what the text of a `config.yaml` says, or says in one line what is wrong with it and where. Nothing at all is a
 * configuration, too. Keys that nobody knows are no fault: the pack may read them itself.
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
