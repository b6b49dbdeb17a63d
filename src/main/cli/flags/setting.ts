import { Config, Duration, Option, type Redacted, Schema, SchemaGetter } from "effect"
import { Flag } from "effect/cli"
import { checkUrl, resolveSecret } from "./secretFlags.ts"

const prefixes = ["", "k", "m", "g"]

/** Parses a size in bytes: `64KiB`, `1MB`, or bytes without a unit. */
export const parseByteSize = (text: string): number | undefined => {
  const [, digits, prefix = "", binary] = /^(\d{1,12})\s*(?:(?:([kmg])(i)?)?b)?$/i.exec(text.trim()) ?? []
  const size = Number(digits) * (binary === undefined ? 1000 : 1024) ** prefixes.indexOf(prefix.toLowerCase())
  return Number.isSafeInteger(size) ? size : undefined
}

/** The values that a setting accepts, and how an error message states them. */
type Check<A> = readonly [accepts: (value: A) => boolean, expected: string]

/** What a setting has beside its name and help. */
interface Row<A> {
  /** The environment variable, when it does not follow from the name of the flag. */
  readonly env?: string
  /** What the help states after the variable. */
  readonly envNote?: string
  readonly metavar?: string
  /** A setting without a default is optional and then `undefined`. */
  readonly default?: unknown
  readonly required?: true
  /** The default as the help shows it, when it is not the value itself. */
  readonly shown?: string
  /** Applies to the flag and to the variable; for lists to every item. */
  readonly check?: Check<A>
}

type DefaultOf<R> = R extends { readonly default: infer D }
  ? D
  : R extends { readonly required: true }
    ? never
    : undefined

interface ListRow<A> extends Row<A> {
  readonly default?: ReadonlyArray<A>
}

/** The variable of a flag, unless its row names another one. */
export const envVariableOf = (name: string): string => `A2C_${name.toUpperCase().replaceAll("-", "_")}`

export const between = (min: number, max = Number.POSITIVE_INFINITY): Check<number> => [
  (value) => value >= min && value <= max,
  max === Number.POSITIVE_INFINITY ? `a number from ${min}` : `a number from ${min} to ${max}`
]

const portCheck = [between(0, 65_535)[0], "a port from 0 to 65535"] as const

const shownDefault = (value: unknown): string => {
  if (value === true) return "on"
  if (Array.isArray(value)) return value.join(", ")
  return typeof value === "string" || typeof value === "number" ? String(value) : ""
}

const helpOf = (help: string, row: Row<never>, env: string | undefined): string => {
  const { envNote, shown = shownDefault(row.default) } = row
  const variable = env === undefined ? [] : [[`env ${env}`, envNote].filter(Boolean).join(", ")]
  const notes = [...variable, ...(shown === "" ? [] : [`default: ${shown}`])]
  return notes.length === 0 ? help : `${help} [${notes.join("; ")}]`
}

/** The variable of a flag by its help. */
export const variableInHelp = (help: string): string | undefined => /\[env (\w+)/.exec(help)?.[1]

const commaSeparated = <A extends string>(item: Schema.Codec<A, string>) =>
  Schema.String.pipe(
    Schema.decodeTo(Schema.Array(Schema.Trim.pipe(Schema.decodeTo(item))), {
      decode: SchemaGetter.split(),
      encode: SchemaGetter.transform((values) => values.join())
    })
  )

/** The variable of a flag whose row names none. */
type EnvOf = (name: string) => string | undefined

/** Makes the constructor of a kind of settings, whose values come from flags and variables. */
const makeKind =
  (envOf: EnvOf) =>
  <A, B = A>(
    flagOf: (name: string) => Flag.Flag<A>,
    configOf: (variable: string) => Config.Config<A>,
    refine: (flag: Flag.Flag<A>) => Flag.Flag<B> = (flag) => flag as never
  ) =>
  <const R extends Row<B> = {}>(name: string, help: string, row?: R): Flag.Flag<B | DefaultOf<R>> => {
    const { check, default: value, env = envOf(name), metavar, required }: Row<B> = row ?? {}
    const described = Flag.withDescription(flagOf(name), helpOf(help, row ?? {}, env))
    const named = metavar === undefined ? described : Flag.withMetavar(described, metavar)
    const filled = env === undefined ? named : Flag.withFallbackConfig(named, configOf(env))
    const refined = refine(filled)
    const checked = check === undefined ? refined : Flag.filter(refined, check[0], () => check[1])
    return required === true ? checked : Flag.withDefault(checked, value as DefaultOf<R>)
  }

const makeList =
  (kind: ReturnType<typeof makeKind>) =>
  <A extends string>(
    flag: Flag.Flag<A>,
    item: Schema.Codec<A, string>,
    name: string,
    help: string,
    { check, metavar, ...row }: ListRow<A> = {}
  ): Flag.Flag<ReadonlyArray<A>> => {
    const named = metavar === undefined ? flag : Flag.withMetavar(flag, metavar)
    const checked = check === undefined ? named : Flag.filter(named, check[0], () => check[1])
    const items = kind(
      () => Flag.atLeast(checked, 1),
      (variable) => Config.schema(commaSeparated(item), variable)
    )
    return items(name, `${help}; may be repeated`, { default: [], envNote: "comma-separated", ...row })
  }

const kinds = (envOf: EnvOf) => {
  const kind = makeKind(envOf)
  const list = makeList(kind)
  const int = kind(Flag.Int, Config.Int)
  const text = kind(Flag.String, Config.String)
  const toggle = kind(Flag.Boolean, Config.Boolean)
  return {
    int,
    text,
    /** A text in a form that `parse` understands. */
    parsed: <A, const R extends Row<A> = {}>(
      name: string,
      help: string,
      [parse, expected]: readonly [parse: (text: string) => A | undefined, expected: string],
      row?: R
    ) => {
      const refine = Flag.filterMap(
        (entered: string) => Option.fromUndefinedOr(parse(entered)),
        () => expected
      )
      return kind(Flag.String, Config.String, (given) => refine(given))(name, help, row)
    },
    file: (name: string, help: string, row: Omit<Row<string>, "default" | "required"> = {}) =>
      text(name, help, { metavar: "FILE", ...row }),
    /** A URL without a user and a password, which other processes could read. */
    url: <const R extends Row<string> & { readonly schemes?: ReadonlyArray<string> } = {}>(
      name: string,
      help: string,
      row?: R
    ) => {
      const urls = kind(Flag.String, Config.String, Flag.mapEffect(checkUrl(`--${name}`, row?.schemes)))
      return urls(name, help, { metavar: "URL", ...row }) as Flag.Flag<string | DefaultOf<R>>
    },
    /**
     * A secret in a file or a variable. A literal one is accepted with a warning, unless it `isPublic`, as a URL without
     * a password.
     */
    secret: (
      name: string,
      help: string,
      { isPublic = () => false, ...row }: Row<Redacted.Redacted> & { readonly isPublic?: (value: string) => boolean }
    ): Flag.Flag<Redacted.Redacted | undefined> =>
      kind<Redacted.Redacted>(
        () => Flag.mapEffect(Flag.Redacted(name), resolveSecret(`--${name}`, isPublic)),
        Config.Redacted
      )(name, `${help}; @FILE reads it from a file`, { metavar: "@FILE", ...row }),
    toggle: (name: string, help: string, row: Row<boolean> & { readonly default?: boolean } = {}) =>
      toggle(name, help, { default: false, ...row }),
    choice: <const L extends ReadonlyArray<string>, const R extends Row<L[number]>>(
      name: string,
      help: string,
      literals: L,
      row: R
    ) =>
      kind<L[number]>(
        () => Flag.Literals(name, literals),
        (variable) => Config.Literals(literals, variable)
      )(name, help, row),
    port: <const R extends Row<number> = {}>(name: string, help: string, row?: R) =>
      int(name, help, { metavar: "PORT", check: portCheck, ...row }) as Flag.Flag<number | DefaultOf<R>>,
    /** A time in whole seconds; up to a day unless the row has a check. */
    seconds: (name: string, help: string, row: Row<number> & { readonly default: Duration.Duration }) => {
      const bounds = { metavar: "SECONDS", check: between(1, 86_400), ...row }
      return Flag.map(int(name, help, { ...bounds, default: Duration.toSeconds(row.default) }), Duration.seconds)
    },
    /** Texts; their variable holds them with commas in between. */
    texts: (name: string, help: string, row: ListRow<string> = {}) => {
      const { check } = row
      const item = check && Schema.makeFilter((one: string) => check[0](one) || `Expected ${check[1]}`)
      return list(Flag.String(name), item ? Schema.String.check(item) : Schema.String, name, help, row)
    },
    choices: <const L extends ReadonlyArray<string>>(
      name: string,
      help: string,
      literals: L,
      row: ListRow<L[number]>
    ) => list<L[number]>(Flag.Literals(name, literals), Schema.Literals(literals), name, help, row)
  }
}

/** Settings by a flag and an environment variable. */
export const setting = kinds(envVariableOf)

/** Settings by a flag alone, unless a row names a variable. */
export const flag = kinds(() => undefined)
