import { hostname } from "node:os"
import { Schema } from "effect"
import { Flag } from "effect/cli"
import { Identifier } from "../../domain/model/names.ts"
import { flag, setting } from "./setting.ts"

/** The protocol bounds the names of offices and members. */
const check = [Schema.is(Identifier), "a text that is not empty, of at most 256 characters"] as const

export const defaultServerUrl = "http://127.0.0.1:7070"

export const serverUrl = setting.text("server", {
  metavar: "URL",
  help: "URL of the Server, with its path unless that is /smcp",
  default: defaultServerUrl
})

export const tokenFile = setting.text("token-file", {
  metavar: "FILE",
  help: "file with the key or token for the Server, read before every connection",
  envNote: "or the token itself in A2C_TOKEN",
  default: undefined
})

export const office = setting.text("office", { metavar: "ID", help: "office to join", check })

export const agentName = setting.text("name", {
  metavar: "NAME",
  help: "name of this Agent",
  default: "a2c-agent",
  check
})

export const computerName = setting.text("name", {
  metavar: "NAME",
  help: "name of this Computer, unique in its office",
  default: hostname(),
  shown: "the host name",
  check
})

/** The Computer that a command of an Agent addresses. */
export const computerFlag = flag.text("computer", {
  metavar: "NAME",
  help: "Computer to address",
  default: undefined
})

/** Values of inputs; they take precedence over every other source. */
export const inputValues = Flag.KeyValuePair("input").pipe(
  Flag.withMetavar("ID=VALUE"),
  Flag.withDescription(
    "value of an input of the configuration; may be repeated. Other processes can read arguments: " +
      "set secrets by the variables A2C_SMCP_ID"
  ),
  Flag.withDefault({})
)

export const configFiles = flag.texts("config", {
  metavar: "FILE",
  help: "configuration: {inputs, servers} of A2C or VS Code, {mcpServers} of Claude or Cursor; files are merged"
})

export const watch = flag.toggle("watch", {
  help: "apply changes of the configuration while running; with --no-watch only on SIGHUP",
  default: true,
  shown: "on"
})

export const approve = flag.texts("approve", {
  metavar: "PATTERN",
  help: "run tools of these names without consent even if they lack auto_apply: 'search*', 'github/*', '*'"
})

export const listenHost = flag.text("host", { help: "address to listen on", default: "127.0.0.1" })

/** The bearer token of a published MCP server. */
export const mcpTokenFlag = (name: string) =>
  flag.secret(name, {
    help: "bearer token that MCP clients must send over HTTP",
    env: "A2C_MCP_TOKEN",
    envNote: "preferred",
    default: undefined
  })

export const jsonFlag = flag.toggle("json", { help: "print JSON", default: false })

/** The arguments of a tool call, as JSON. */
export const argsFlag = flag.text("args", {
  metavar: "JSON",
  help: "arguments of the tool, a JSON object",
  default: "{}",
  shown: ""
})
