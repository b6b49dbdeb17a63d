import { hostname } from "node:os"
import { Argument, Flag } from "effect/cli"
import { isIdentifier } from "../../../domain/model/fields.ts"
import type { FlagRule } from "./flagRules.ts"
import { resolveSecretsByKey } from "./secretFlags.ts"
import { between, flag, setting } from "./setting.ts"
import { expectedListedOrigin, parseListedOrigin } from "../../config/webAddress.ts"

/** Parses `HOST:PORT`, where the host may be an IPv6 address in brackets. Listeners may have port 0, any free port. */
export const parseHostPort = (text: string, minPort: 0 | 1) => {
  const [, bracketed, plain, digits = ""] = /^(?:\[([^\]]+)\]|([^:\s]+)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain
  const port = Number(digits)
  return host === undefined || port < minPort || port > 65_535 ? undefined : { host, port }
}

const check = [isIdentifier, "a text that is not empty, of at most 256 characters"] as const

export const defaultServerUrl = "http://127.0.0.1:7070"

export const serverUrl = setting.url("server", "URL of the Server, with its path unless that is /smcp or /socket.io", {
  default: defaultServerUrl,
  schemes: ["http", "https", "ws", "wss"]
})

export const tokenFile = setting.file(
  "token-file",
  "file with the key or token for the Server, read before every connection",
  { envNote: "or the token itself in A2C_TOKEN" }
)

export const tlsCa = setting.file(
  "tls-ca",
  "file with certificates of authorities to trust beside those of the platform, PEM"
)

export const office = setting.text("office", "office to join", { metavar: "ID", check, required: true })

export const defaultAgent = "a2c-agent"

export const agentName = setting.text("name", "name of this Agent", { metavar: "NAME", default: defaultAgent, check })

export const computerName = setting.text("name", "name of this Computer, unique in its office", {
  metavar: "NAME",
  default: hostname(),
  shown: "the host name",
  check
})

/** Values of inputs; they take precedence over every other source. */
export const inputValues = Flag.String("input").pipe(
  Flag.withMetavar("ID=@FILE"),
  Flag.withDescription(
    "value of an input of the configuration from a file; may be repeated. Other processes can read a literal ID=VALUE: " +
      "give secrets by files, or by the variables A2C_SMCP_ID"
  ),
  Flag.atLeast(1),
  Flag.withDefault([]),
  Flag.mapEffect(resolveSecretsByKey("--input"))
)

export const configFiles = flag.texts(
  "config",
  "configuration: {inputs, servers} of A2C or VS Code, {mcpServers} of Claude or Cursor; files are merged",
  { metavar: "FILE" }
)

export const watch = flag.toggle(
  "watch",
  "apply changes of the configuration while running; with --no-watch only on SIGHUP, without a terminal",
  { default: true }
)

export const approve = Flag.map(
  flag.texts(
    "approve",
    "run tools of these names without consent even if they lack auto_apply: 'search*', 'github/*', '*'",
    { metavar: "PATTERN,..." }
  ),
  (lists) => lists.flatMap((patterns) => patterns.split(","))
)

/** The caller of a call to explain. */
export const defaultSubject = "agent"

export const policy = setting.file(
  "policy",
  "rules that allow, ask for or deny calls of Agents and operators; read again when the file changes"
)

const originRow = {
  metavar: "ORIGIN",
  check: [(text: string) => parseListedOrigin(text) !== undefined, expectedListedOrigin]
} as const

/** A list of origins, in the form that browsers send. */
export const originsFlag = (kinds: typeof setting, help: string) =>
  Flag.map(kinds.texts("allow-origin", help, originRow), (origins) =>
    origins.map((origin) => parseListedOrigin(origin) ?? origin)
  )

const hostForm = [
  (text: string) => /^\[([^\]]+)\]$/.exec(text)?.[1] ?? /^[^\s[\]]+$/.exec(text)?.[0],
  "an IP address or a host name, such as 127.0.0.1, :: or localhost"
] as const

/** A host to listen on, without the brackets that an IPv6 address has in URLs. */
export const listenHost = (kind: typeof setting, options: { readonly env?: string } = {}) =>
  kind.parsed("host", "address to listen on", hostForm, { default: "127.0.0.1", ...options })

export const mcpTokenFlag = (name: string) =>
  flag.secret(name, "bearer token that MCP clients must send over HTTP", { env: "A2C_MCP_TOKEN" })

export const jsonFlag = flag.toggle("json", "print JSON")

export const rawFlag = flag.toggle("raw", "print texts without escaping what a terminal would interpret")

export const rawRule: FlagRule<{ readonly json: boolean }, "raw"> = {
  flags: ["raw"],
  rule: "not with --json",
  isMet: ({ json }) => !json
}

export const argsFlag = flag.text(
  "args",
  "arguments of the tool: a JSON object, a file that holds it, or - for stdin",
  { metavar: "JSON|@FILE|-" }
)

/** A flag for a size or a number of things, at least 1. */
export const sizeFlag = (name: string, max: number, defaultSize: number, help: string) =>
  flag.int(name, help, { metavar: "NUMBER", default: defaultSize, check: between(1, max) })

/** A word of a command line; required. */
export const word = (name: string, help: string) => Argument.withDescription(Argument.String(name), help)

/** All words that follow, at least `min`. */
export const words = (name: string, help: string, min = 0) => Argument.variadic(word(name, help), { min })

/** A word that may be left out. */
export const optionalWord = (name: string, help: string) => Argument.withDefault(word(name, help), undefined)

export const argumentWords = words(
  "arguments",
  "KEY=VALUE, converted by the tool's schema; KEY=@FILE, a text file; KEY:=JSON; or all arguments: @FILE, - for stdin"
)
