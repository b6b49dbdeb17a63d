import { Config, Duration, Schema, SchemaGetter } from "effect"
import { Flag } from "effect/cli"

/** The values that a setting accepts, and how an error message states them. */
type Check<A> = readonly [accepts: (value: A) => boolean, expected: string]

/** A setting of a command: its flag, variable, default and help come from here. */
interface Row<A> {
  readonly help: string
  /** The environment variable, when it does not follow from the name of the flag. */
  readonly env?: string
  /** What the help states after the variable. */
  readonly envNote?: string
  readonly metavar?: string
  /** Without this key the setting is required; `undefined` makes it optional. */
  readonly default?: unknown
  /** The default as the help shows it, when it is not the value itself. */
  readonly shown?: string
  /** Applies to the flag and to the variable. */
  readonly check?: Check<A>
}

type DefaultOf<R> = R extends { readonly default: infer D } ? D : never

interface ListRow<A> extends Omit<Row<A>, "check"> {
  readonly default?: ReadonlyArray<A>
  /** Applies to every item. */
  readonly check?: Check<A>
}

/** The variable of a flag, unless its row names another one. */
export const envVariableOf = (name: string): string => `A2C_${name.toUpperCase().replaceAll("-", "_")}`

/** Accepts integers in a range. */
export const between = (min: number, max = Number.POSITIVE_INFINITY): Check<number> => [
  (value) => value >= min && value <= max,
  max === Number.POSITIVE_INFINITY ? `a number from ${min}` : `a number from ${min} to ${max}`
]

const maxSeconds = 86_400

const helpOf = (row: Row<never>, env: string | undefined): string => {
  const { default: value, envNote, help, shown = value === false ? "" : String(value ?? "") } = row
  const variable = env === undefined ? [] : [[`env ${env}`, envNote].filter(Boolean).join(", ")]
  const notes = [...variable, ...(shown === "" ? [] : [`default: ${shown}`])]
  return notes.length === 0 ? help : `${help} [${notes.join("; ")}]`
}

const commaSeparated = <A extends string>(item: Schema.Codec<A, string>) =>
  Schema.String.pipe(
    Schema.decodeTo(Schema.Array(Schema.Trim.pipe(Schema.decodeTo(item))), {
      decode: SchemaGetter.split(),
      encode: SchemaGetter.transform((values) => values.join())
    })
  )

/** The kinds of settings; `envOf` gives the variable of a row that names none. */
const kinds = (envOf: (name: string) => string | undefined) => {
  const kind =
    <A>(flagOf: (name: string) => Flag.Flag<A>, configOf: (variable: string) => Config.Config<A>) =>
    <const R extends Row<A>>(name: string, row: R): Flag.Flag<A | DefaultOf<R>> => {
      const { check, env = envOf(name), metavar } = row
      const described = Flag.withDescription(flagOf(name), helpOf(row, env))
      const named = metavar === undefined ? described : Flag.withMetavar(described, metavar)
      const filled = env === undefined ? named : Flag.withFallbackConfig(named, configOf(env))
      const checked = check === undefined ? filled : Flag.filter(filled, check[0], () => check[1])
      return "default" in row ? Flag.withDefault(checked, row.default as DefaultOf<R>) : checked
    }
  const list = <A extends string>(
    flag: Flag.Flag<A>,
    item: Schema.Codec<A, string>,
    name: string,
    { check, default: value = [], env = envOf(name), help, metavar, shown = value.join(", ") }: ListRow<A>
  ): Flag.Flag<ReadonlyArray<A>> => {
    const named = metavar === undefined ? flag : Flag.withMetavar(flag, metavar)
    const checked = check === undefined ? named : Flag.filter(named, check[0], () => check[1])
    const items = kind(
      () => Flag.atLeast(checked, 1),
      (variable) => Config.schema(commaSeparated(item), variable)
    )
    const row = { help: `${help}; may be repeated`, envNote: "comma-separated", shown, default: value }
    return items(name, env === undefined ? row : { ...row, env })
  }
  const int = kind(Flag.Int, Config.Int)
  return {
    int,
    text: kind(Flag.String, Config.String),
    secret: kind(Flag.Redacted, Config.Redacted),
    toggle: kind(Flag.Boolean, Config.Boolean),
    choice: <const L extends ReadonlyArray<string>, const R extends Row<L[number]>>(
      name: string,
      literals: L,
      row: R
    ) =>
      kind<L[number]>(
        () => Flag.Literals(name, literals),
        (variable) => Config.Literals(literals, variable)
      )(name, row),
    port: <const R extends Row<number>>(name: string, row: R) =>
      int(name, {
        metavar: "PORT",
        check: [between(0, 65_535)[0], "a port from 0 to 65535"],
        ...row
      }) as Flag.Flag<number | DefaultOf<R>>,
    /** A time in whole seconds; up to a day unless the row has a check. */
    seconds: (
      name: string,
      { default: value, ...row }: Omit<Row<number>, "default"> & { readonly default: Duration.Duration }
    ): Flag.Flag<Duration.Duration> =>
      Flag.map(
        int(name, {
          metavar: "SECONDS",
          check: between(1, maxSeconds),
          ...row,
          default: Duration.toSeconds(value)
        }),
        Duration.seconds
      ),
    /** Texts; their variable holds them with commas in between. */
    texts: (name: string, row: ListRow<string>) => {
      const { check } = row
      const item =
        check === undefined
          ? Schema.String
          : Schema.String.check(Schema.makeFilter((text: string) => check[0](text) || `Expected ${check[1]}`))
      return list(Flag.String(name), item, name, row)
    },
    choices: <const L extends ReadonlyArray<string>>(name: string, literals: L, row: ListRow<L[number]>) =>
      list<L[number]>(Flag.Literals(name, literals), Schema.Literals(literals), name, row)
  }
}

/** Settings by a flag and an environment variable. */
export const setting = kinds(envVariableOf)

/** Settings by a flag alone, unless a row names a variable. */
export const flag = kinds(() => undefined)
