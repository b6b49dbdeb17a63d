import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Schedule, type Scope } from "effect"
import type { LineName } from "../../src/domain/wire/lines.ts"
import { openProxy, type Proxy } from "../chaos/Proxy.ts"
import { bundleId, serverName } from "./fixture/contents.ts"
import { functionsJoins } from "./functions.ts"
import type { AgentPart, ComputerOptions, ComputerPart, Factory, PartError } from "./members.ts"
import type { Pairing, Peer, Role, Side } from "./peers.ts"

/** An office whose parts come from two implementations. */
export interface World {
  readonly peer: Peer
  readonly pairing: Pairing
  readonly line: LineName
  readonly office: string
  readonly computer: ComputerPart
  readonly computerName: string
  readonly agent: AgentPart
  /** The connections of the members, which steps cut. */
  readonly proxies: { readonly agent: Proxy; readonly computer: Proxy }
  /** The identity of the MCP server in requests of this line. */
  readonly serverId: string
  /** The name of a tool on this line. */
  readonly toolName: (tool: string) => string
  /** Waits until the MCP server has written this line, this many times. */
  readonly awaitJournal: (line: string, times?: number) => Effect.Effect<void>
  readonly journalCount: (line: string) => number
  /** The folder of the skills of the user. */
  readonly skillFolder: string
  readonly landing: string
  /** Makes a further Agent in the same office. */
  readonly makeAgent: (name: string, token?: string) => Effect.Effect<AgentPart, PartError, Scope.Scope>
  /** Makes a further Computer. */
  readonly makeComputer: (name: string) => Effect.Effect<ComputerPart, PartError, Scope.Scope>
  /** Joins as our Computer of functions, in this process or in a page of Chromium. */
  readonly joinWithFunctions: (
    where: keyof typeof functionsJoins,
    name: string
  ) => Effect.Effect<unknown, PartError, Scope.Scope>
  /** Joins with an Agent on another protocol line; it must fail. */
  readonly joinOnOtherLine: Effect.Effect<void, PartError, Scope.Scope>
}

/** Credentials of all members. */
const token = "interop-token-0123456789abcdef-0123456789abcdef"

export const inputValues = { mode: "fast", secret: "interop-secret-value" } as const

export const userSkill = {
  name: "interop-guide",
  description: "How to test interoperation",
  body: "Start every pairing once.\n",
  largePath: "references/large.txt",
  /** More than fits into the budget for inline text. */
  large: "a line of the large file\n".repeat(6000)
} as const

/** Writes a skill of the user. */
export const writeSkill = (folder: string, name: string, description: string, body: string): void => {
  const path = join(folder, name)
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, "SKILL.md"), `---\nname: ${name}\ndescription: ${description}\n---\n${body}`)
}

const fixture = join(import.meta.dirname, "fixture", "mcpServer.ts")

/** The configuration of a Computer, in the form that the peer understands; our Computer understands all forms. */
const makeConfig = ({ line, pickOptions }: Peer, journal: string): ComputerOptions["config"] => {
  const modes = ["fast", "careful"]
  return {
    servers: {
      [serverName]: {
        name: serverName,
        ...(line !== "0.2" && { bundle_id: bundleId }),
        type: "stdio",
        default_tool_meta: { auto_apply: true },
        tool_meta: { guarded: { auto_apply: false } },
        server_parameters: {
          command: process.execPath,
          args: [fixture, journal],
          env: { INTEROP_MODE: "${input:mode}", INTEROP_SECRET: "${input:secret}" }
        }
      }
    },
    inputs: [
      {
        id: "mode",
        type: "pickString",
        description: "How to work",
        options: pickOptions === "text" ? modes : modes.map((value) => ({ label: `${value} mode`, value })),
        default: "careful"
      },
      { id: "secret", type: "promptString", description: "A secret", password: true }
    ]
  }
}

const readLines = (file: string): ReadonlyArray<string> =>
  existsSync(file) ? readFileSync(file, "utf8").split("\n") : []

interface WorldOptions {
  readonly peer: Peer
  readonly pairing: Pairing
  /** The folder of this pairing. */
  readonly folder: string
  readonly factoryOf: (side: Side) => Factory
  /** Our Server that serves only another line, and our Agent that speaks it. */
  readonly otherLine: { readonly server: Factory; readonly agent: Factory }
}

/** Starts the parts of a pairing until the scope closes. Members join in the steps. */
export const makeWorld = Effect.fnUntraced(function* ({
  factoryOf,
  folder,
  otherLine,
  pairing,
  peer
}: WorldOptions): Effect.fn.Return<World, PartError, Scope.Scope> {
  const factories: { readonly [R in Role]: Factory } = {
    agent: factoryOf(pairing.agent),
    computer: factoryOf(pairing.computer),
    server: factoryOf(pairing.server)
  }
  const { line } = peer
  const journal = join(folder, "journal.txt")
  const files = join(folder, "computer")
  const landing = join(folder, "landing")
  const skillFolder = join(files, "skills", "user")
  for (const path of [landing, skillFolder, join(skillFolder, userSkill.name, "references")]) {
    mkdirSync(path, { recursive: true })
  }
  writeSkill(skillFolder, userSkill.name, userSkill.description, userSkill.body)
  writeFileSync(join(skillFolder, userSkill.name, userSkill.largePath), userSkill.large)

  const server = yield* factories.server.makeServer(token)
  const openTo = openProxy({ target: () => server.port })
  const proxies = { agent: yield* openTo, computer: yield* openTo }
  const office = `office-${peer.name}`
  const computerName = "desk"

  const computerOptions = (name: string, port: number, path: string): ComputerOptions => ({
    name,
    port,
    token,
    config: makeConfig(peer, path),
    values: inputValues,
    folder: files,
    landing
  })
  const computer = yield* factories.computer.makeComputer(computerOptions(computerName, proxies.computer.port, journal))
  const agent = yield* factories.agent.makeAgent({ name: "driver", office, port: proxies.agent.port, token })

  const journalCount = (wanted: string) => readLines(journal).filter((one) => one === wanted).length
  const rejectedJoin =
    pairing.server === "theirs"
      ? Effect.flatMap(
          otherLine.agent.makeAgent({ name: "other", office, port: server.port, token }),
          ({ join: enter }) => enter
        )
      : Effect.gen(function* () {
          const { port } = yield* otherLine.server.makeServer(token)
          const other = yield* factories.agent.makeAgent({ name: "other", office, port, token })
          yield* other.join
        })

  return {
    peer,
    pairing,
    line,
    office,
    computer,
    computerName,
    agent,
    proxies,
    serverId: line === "0.2" ? serverName : bundleId,
    toolName: (tool) => (line === "0.2" ? tool : `${bundleId}__${tool}`),
    journalCount,
    awaitJournal: (wanted, times = 1) =>
      Effect.asVoid(
        Effect.repeat(
          Effect.sync(() => journalCount(wanted)),
          { until: (count) => count >= times, schedule: Schedule.spaced("50 millis") }
        )
      ),
    skillFolder,
    landing,
    makeAgent: (name, credentials = token) =>
      factories.agent.makeAgent({ name, office, port: server.port, token: credentials }),
    makeComputer: (name) =>
      factories.computer.makeComputer(computerOptions(name, server.port, join(folder, `journal of ${name}.txt`))),
    joinWithFunctions: (where, name) =>
      functionsJoins[where]({
        url: `http://127.0.0.1:${server.port}${pairing.server === "theirs" ? "/socket.io" : ""}`,
        name,
        office,
        token,
        protocol: line
      }),
    joinOnOtherLine: rejectedJoin
  }
})
