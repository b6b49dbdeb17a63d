import { hostname } from "node:os"
import { Config, Duration, Schema, SchemaGetter } from "effect"
import { Flag } from "effect/cli"
import { Identifier } from "../../domain/model/names.ts"

/** Offices and members are named by texts that the protocol takes. */
const requireIdentifier = Flag.filter(
  Schema.is(Identifier),
  () => "a text that is not empty, of at most 256 characters"
)

/** Where the Server is. */
export const serverUrl = Flag.String("server").pipe(
  Flag.withMetavar("URL"),
  Flag.withDescription(
    "URL of the Server, with its path where that is not /smcp " +
      "[env A2C_SERVER; default: http://127.0.0.1:7070]"
  ),
  Flag.withFallbackConfig(Config.String("A2C_SERVER")),
  Flag.withDefault("http://127.0.0.1:7070")
)

/** Where a member finds what it shows the Server. */
export const tokenFile = Flag.String("token-file").pipe(
  Flag.withMetavar("FILE"),
  Flag.withDescription(
    "file with the key or token to show the Server, read before every connection " +
      "[env A2C_TOKEN_FILE, or the token itself in A2C_TOKEN]"
  ),
  Flag.withFallbackConfig(Config.String("A2C_TOKEN_FILE")),
  Flag.optional
)

/** The office to join. */
export const office = Flag.String("office").pipe(
  Flag.withMetavar("ID"),
  Flag.withDescription("office to join [env A2C_OFFICE]"),
  Flag.withFallbackConfig(Config.String("A2C_OFFICE")),
  requireIdentifier
)

/** The name of a member; an Agent at a terminal seldom needs one of its own. */
export const agentName = Flag.String("name").pipe(
  Flag.withMetavar("NAME"),
  Flag.withDescription("name of this Agent [env A2C_NAME; default: a2c-agent]"),
  Flag.withFallbackConfig(Config.String("A2C_NAME")),
  Flag.withDefault("a2c-agent"),
  requireIdentifier
)

/** The name under which a Computer is called. */
export const computerName = Flag.String("name").pipe(
  Flag.withMetavar("NAME"),
  Flag.withDescription(
    "name of this Computer, unique in its office [env A2C_NAME; default: the host's name]"
  ),
  Flag.withFallbackConfig(Config.String("A2C_NAME")),
  Flag.withDefault(hostname()),
  requireIdentifier
)

/** Which Computer is meant; all of them, or the one that fits, when it is left out. */
export const computerFlag = Flag.String("computer").pipe(
  Flag.withMetavar("NAME"),
  Flag.withDescription("which Computer is meant"),
  Flag.optional
)

/** Values of inputs, which win over every other source. */
export const inputValues = Flag.KeyValuePair("input").pipe(
  Flag.withMetavar("ID=VALUE"),
  Flag.withDescription(
    "value of an input of the configuration; may be repeated. Others can see the arguments of a process: " +
      "give secrets by the environment, as A2C_SMCP_ID"
  ),
  Flag.withDefault({})
)

/** What a Computer drives. */
export const configFiles = Flag.String("config").pipe(
  Flag.withMetavar("FILE"),
  Flag.withDescription(
    "configuration: {inputs, servers} of A2C or VS Code, {mcpServers} of Claude or Cursor; " +
      "may be repeated, files are merged"
  ),
  Flag.atLeast(0)
)

/** Are changes of the configuration applied at once? */
export const watch = Flag.Boolean("watch").pipe(
  Flag.withDescription(
    "apply changes of the configuration while it runs; with --no-watch only on SIGHUP [default: on]"
  ),
  Flag.withDefault(true)
)

/** Which tools run without consent. */
export const approve = Flag.String("approve").pipe(
  Flag.withMetavar("PATTERN"),
  Flag.withDescription(
    "run tools of these names without asking although they are not marked auto_apply: " +
      "'search*', 'github/*', '*'; may be repeated"
  ),
  Flag.atLeast(0)
)

/** The address a service of ours listens on. */
export const listenHost = Flag.String("host").pipe(
  Flag.withDescription("address to listen on [default: 127.0.0.1]"),
  Flag.withDefault("127.0.0.1")
)

/** Accepts the number of a port; comes after the fallback to a variable, so that this is checked as well. */
export const requirePort = Flag.filter(
  (port: number) => port >= 0 && port <= 65535,
  () => "a port from 0 to 65535"
)

/** A port a service of ours listens on. */
export const portFlag = (name: string, description: string) =>
  Flag.Int(name).pipe(Flag.withMetavar("PORT"), Flag.withDescription(description))

/** What clients of a published MCP server must show. */
export const mcpTokenFlag = (name: string) =>
  Flag.Redacted(name).pipe(
    Flag.withDescription("what clients over HTTP must show as bearer token; better by [env A2C_MCP_TOKEN]"),
    Flag.withFallbackConfig(Config.Redacted("A2C_MCP_TOKEN")),
    Flag.optional
  )

/** A flag that may be repeated. */
export const repeatable = <A>(flag: Flag.Flag<A>, description: string): Flag.Flag<ReadonlyArray<A>> =>
  flag.pipe(Flag.withDescription(`${description}; may be repeated`), Flag.atLeast(0))

const commaSeparatedSchema = <A extends string>(value: Schema.Codec<A, string>) =>
  Schema.String.pipe(
    Schema.decodeTo(Schema.Array(Schema.Trim.pipe(Schema.decodeTo(value))), {
      decode: SchemaGetter.split(),
      encode: SchemaGetter.transform((values) => values.join())
    })
  )

/** A flag that may be repeated, and whose variable holds as many values with commas between them. */
export const repeatableOrCommaSeparated = <A extends string>(
  flag: Flag.Flag<A>,
  value: Schema.Codec<A, string>,
  variable: string,
  description: string
): Flag.Flag<ReadonlyArray<A>> =>
  flag.pipe(
    Flag.withDescription(`${description}; may be repeated [env ${variable}, with commas]`),
    Flag.atLeast(1),
    Flag.withFallbackConfig(Config.schema(commaSeparatedSchema(value), variable)),
    Flag.withDefault<ReadonlyArray<A>>([])
  )

/** A number of something, at least one. */
export const positiveIntFlag = (name: string, max: number, defaultValue: number, description: string) =>
  Flag.Int(name).pipe(
    Flag.withMetavar("NUMBER"),
    Flag.withDescription(`${description} [default: ${defaultValue}]`),
    Flag.filter(
      (number) => number >= 1 && number <= max,
      () => `a number from 1 to ${max}`
    ),
    Flag.withDefault(defaultValue)
  )

/** A time in whole seconds, up to a day. */
export const secondsFlag = (name: string, defaultValue: Duration.Duration, description: string) =>
  Flag.Int(name).pipe(
    Flag.withMetavar("SECONDS"),
    Flag.withDescription(`${description} [default: ${Duration.toSeconds(defaultValue)}]`),
    Flag.filter(
      (number) => number >= 1 && number <= 86_400,
      () => "a number from 1 to 86400"
    ),
    Flag.map(Duration.seconds),
    Flag.withDefault(defaultValue)
  )
