import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { asObject, asString, isJsonObject, type JsonObject } from "../../src/domain/json.ts"
import { definedOnly } from "../../src/domain/objects.ts"
import { type Driver, startDriver } from "./Driver.ts"
import { type AgentPart, type Factory, PartError } from "./members.ts"
import type { Role } from "./peers.ts"

/** How the driver of a part is started. */
export interface Launch {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly variables: { readonly [name: string]: string }
}

interface TheirOptions {
  readonly launch: (role: Role) => Launch
  /** A folder that serves as home of the drivers. */
  readonly folder: string
  readonly onLog: (line: string) => void
  /** False when the Agent of the package hides the ids of its calls. */
  readonly canCancel: boolean
}

const objects = (value: unknown): ReadonlyArray<JsonObject> => (Array.isArray(value) ? value.filter(isJsonObject) : [])

const unexpected = (value: unknown) =>
  new PartError({ message: `unexpected value: ${JSON.stringify(value)?.slice(0, 300)}` })

const inAgent = ({ events, request }: Driver, canCancel: boolean): AgentPart => {
  const list = (command: string, fields: JsonObject = {}) => Effect.map(request(command, fields), objects)
  const texts = (command: string, fields: JsonObject = {}) =>
    Effect.flatMap(request(command, fields), (value) =>
      Array.isArray(value) && value.every((one) => typeof one === "string")
        ? Effect.succeed<ReadonlyArray<string>>(value)
        : Effect.fail(unexpected(value))
    )
  return {
    events,
    join: Effect.asVoid(request("join")),
    leave: Effect.asVoid(request("leave")),
    computers: texts("computers"),
    tools: (computer) =>
      Effect.map(list("tools", { computer }), (tools) =>
        tools.map(({ bundle_id, description, name }) => ({
          name: asString(name) ?? "",
          description: asString(description) ?? "",
          bundleId: asString(bundle_id)
        }))
      ),
    call: (call) => Effect.map(request("call", { ...call }), asObject),
    cancelCall: canCancel ? (call, cancelAfter) => Effect.asVoid(request("call", { ...call, cancelAfter })) : undefined,
    desktop: (computer, options = {}) => texts("desktop", { computer, ...options }),
    config: (computer) =>
      Effect.map(request("config", { computer }), (value) => ({
        servers: asObject(asObject(value)["servers"]),
        text: JSON.stringify(value)
      })),
    resources: (computer, server, cursor) =>
      Effect.map(request("resources", { computer, server, ...definedOnly({ cursor }) }), (value) => {
        const { next_cursor, resources } = asObject(value)
        return {
          resources: objects(resources).map(({ mime_type, uri }) => ({
            uri: asString(uri) ?? "",
            mimeType: asString(mime_type)
          })),
          cursor: asString(next_cursor)
        }
      }),
    beyondProtocol: undefined,
    skills: (computer) =>
      Effect.map(list("skills", { computer }), (skills) =>
        skills.map(({ description, name, source }) => ({
          name: asString(name) ?? "",
          source: asString(source) ?? "",
          description: asString(description) ?? ""
        }))
      ),
    skillFile: (computer, name, path) =>
      Effect.flatMap(request("skill", { computer, name, ...definedOnly({ path }) }), (value) => {
        const body = asString(asObject(value)["body"])
        return body === undefined ? Effect.fail(unexpected(value)) : Effect.succeed(body)
      }),
    upload: (computer, data, hint) =>
      Effect.map(request("upload", { computer, hint, data: Buffer.from(data).toString("base64") }), (value) => {
        const { path, sha256, size } = asObject(value)
        return { path: asString(path) ?? "", sha256: asString(sha256) ?? "", size: Number(size) }
      })
  }
}

/** The variables of the inputs, in the spellings of all versions. */
const inputVariables = (values: { readonly [id: string]: string }) =>
  Object.fromEntries(
    Object.entries(values).flatMap(([id, value]) => [
      [`A2C_INPUT_${id.toUpperCase()}`, value],
      [`A2C_SMCP_${id}`, value]
    ])
  )

/** Parts of a peer, each in its own process. */
export const makeTheirFactory = ({ canCancel, folder, launch, onLog }: TheirOptions): Factory => {
  const start = (role: Role, more: { readonly [name: string]: string } = {}) => {
    const { variables, ...program } = launch(role)
    mkdirSync(folder, { recursive: true })
    const home = { HOME: folder, ...variables, ...more }
    return startDriver({ ...program, cwd: folder, variables: home, onLog: (line) => onLog(`${role}: ${line}`) })
  }
  const urlOf = (port: number) => `http://127.0.0.1:${port}`
  return {
    makeServer: Effect.fnUntraced(function* (token) {
      const driver = yield* start("server")
      const { port } = asObject(yield* driver.request("start", { token }))
      return { port: Number(port) }
    }),
    makeAgent: Effect.fnUntraced(function* ({ name, office, port, token }) {
      const driver = yield* start("agent")
      const part = inAgent(driver, canCancel)
      const connect = driver.request("connect", { url: urlOf(port), name, office, token })
      return { ...part, join: Effect.andThen(connect, part.join) }
    }),
    makeComputer: Effect.fnUntraced(function* ({ config, folder: files, landing, name, port, token, values }) {
      const driver = yield* start("computer", inputVariables(values))
      yield* driver.request("start", { name, config, folder: join(files), landing })
      let isConnected = false
      const connect = Effect.suspend(() => {
        if (isConnected) return Effect.void
        isConnected = true
        return driver.request("connect", { url: urlOf(port), token })
      })
      return {
        join: (office) => Effect.andThen(connect, Effect.asVoid(driver.request("join", { office }))),
        leave: Effect.asVoid(driver.request("leave"))
      }
    })
  }
}
