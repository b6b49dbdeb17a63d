import { join } from "node:path"
import { Cause, Context, Effect, Exit, Layer, Result, Scope, Stream } from "effect"
import {
  Agent,
  type AgentEvent,
  agentLayer,
  ApiKeys,
  Authenticator,
  Computer,
  AuditLog,
  computerLayer,
  type LineName,
  makeSchemeAuthenticator,
  Policy,
  parseComputerConfig,
  parseSimpleKeys,
  Server,
  serverLayer
} from "../../src/main/entrypoints/index.ts"
import { asObject, asString } from "../../src/domain/json.ts"
import { definedOnly } from "../../src/domain/objects.ts"
import { makeEventLog, type OfficeEvent } from "./EventLog.ts"
import { type AgentPart, type Factory, PartError } from "./members.ts"

interface OurOptions {
  /** The line of members; `auto` for Agents that find it themselves. */
  readonly line: LineName
  readonly findLine: boolean
  /** The path of the Server: that of a peer, or our default. */
  readonly path: string
  /** The lines that a Server serves; all by default. */
  readonly lines?: ReadonlyArray<LineName>
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : JSON.stringify(error))

const toPartError = (error: unknown): PartError => {
  const code = asObject({ ...(error as object) })["code"]
  return new PartError({ message: messageOf(error), ...(typeof code === "number" && { code }) })
}

/** Reports every failure, and defects of this project, as the error of the part. */
const asPart = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, PartError, R> =>
  Effect.catchCause(effect, (cause) =>
    Effect.failCause(Cause.hasInterruptsOnly(cause) ? Cause.interrupt() : Cause.fail(toPartError(Cause.squash(cause))))
  )

const partOfNotice: { readonly [part: string]: OfficeEvent["kind"] } = {
  config: "config",
  toolList: "toolList",
  desktop: "desktop",
  skills: "skills"
}

const toOfficeEvent = (event: AgentEvent): OfficeEvent | undefined => {
  switch (event._tag) {
    case "Entered":
      return { kind: "entered", name: event.membership.name }
    case "Left":
      return { kind: "left", name: event.membership.name }
    case "Updated": {
      const kind = partOfNotice[event.part]
      return kind === undefined ? undefined : { kind, name: event.computer }
    }
    case "Cancelled":
    case "Joined":
    case "Disconnected":
      return undefined
  }
}

const authenticated = (token: string) =>
  Layer.effect(
    Authenticator,
    Effect.gen(function* () {
      const entries = Result.getOrThrow(parseSimpleKeys(`interop=${token}`))
      return makeSchemeAuthenticator([yield* ApiKeys.make(entries)])
    })
  )

/** Parts of this project, through its public layers, in this process. */
export const makeOurFactory = ({ findLine, line, lines, path }: OurOptions): Factory => {
  const urlOf = (port: number) => `http://127.0.0.1:${port}${path}`

  return {
    makeServer: Effect.fnUntraced(function* (token) {
      // Pages of any port offer functions.
      const layer = serverLayer(definedOnly({ allowedOrigins: ["*"], lines }))
      const context = yield* asPart(Layer.build(Layer.provide(layer, [authenticated(token), AuditLog.layerNone])))
      return { port: Number(new URL(Context.get(context, Server).url).port) }
    }),

    makeAgent: Effect.fnUntraced(function* ({ name, office, port, token }) {
      const parent = yield* Effect.scope
      const events = makeEventLog()
      let joined: { readonly agent: Agent["Service"]; readonly scope: Scope.Closeable } | undefined

      const layer = agentLayer({ url: urlOf(port), name, office, token, protocol: findLine ? "auto" : line })
      const enter = Effect.gen(function* () {
        const scope = yield* Scope.fork(parent)
        const agent = yield* Layer.build(layer).pipe(
          Effect.map((context) => Context.get(context, Agent)),
          Scope.provide(scope),
          Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
        )
        const watch = Stream.runForEach(agent.events, (event) =>
          Effect.sync(() => {
            const seen = toOfficeEvent(event)
            if (seen !== undefined) events.add(seen)
          })
        )
        yield* Effect.forkIn(watch, scope, { startImmediately: true })
        joined = { agent, scope }
      })
      const withAgent = <A, E>(use: (agent: Agent["Service"]) => Effect.Effect<A, E>) =>
        asPart(
          Effect.suspend(
            (): Effect.Effect<A, E | PartError> =>
              joined === undefined ? Effect.fail(new PartError({ message: "not joined" })) : use(joined.agent)
          )
        )
      const part: AgentPart = {
        events,
        join: asPart(enter),
        leave: Effect.suspend(() => (joined === undefined ? Effect.void : Scope.close(joined.scope, Exit.void))),
        computers: withAgent(({ members }) =>
          Effect.map(members, (all) => all.filter(({ role }) => role === "computer").map((one) => one.name))
        ),
        tools: (computer) =>
          withAgent((agent) =>
            Effect.map(agent.getTools(computer), (tools) =>
              tools.map(({ bundleId, description, name: tool }) => ({ name: tool, description, bundleId }))
            )
          ),
        call: (call) => withAgent((agent) => agent.callTool(call)),
        cancelCall: (call, after) =>
          Effect.asVoid(
            Effect.timeoutOption(
              withAgent((agent) => agent.callTool(call)),
              `${after} seconds`
            )
          ),
        desktop: (computer, options) => withAgent((agent) => agent.getDesktop(computer, options)),
        config: (computer) =>
          withAgent((agent) =>
            Effect.map(agent.getConfig(computer), (config) => ({
              servers: { ...config.servers },
              text: JSON.stringify(config)
            }))
          ),
        resources: (computer, server, cursor) =>
          withAgent((agent) =>
            Effect.map(
              agent.getResources(computer, server, cursor === undefined ? {} : { cursor }),
              ({ nextCursor, resources }) => ({
                resources: resources.map(({ mimeType, uri }) => ({
                  uri: asString(uri) ?? "",
                  mimeType: asString(mimeType)
                })),
                cursor: nextCursor
              })
            )
          ),
        skills: (computer) => withAgent((agent) => agent.skills(computer)),
        beyondProtocol: (call) =>
          withAgent((agent) =>
            Effect.gen(function* () {
              const servers = yield* agent.mcpServers(call.computer)
              const task = yield* agent.startTool(call)
              return { servers: servers.length, result: yield* task.result }
            })
          ),
        skillFile: (computer, skill, file) =>
          withAgent((agent) =>
            Effect.flatMap(agent.readSkill(computer, skill, file), ({ relPath, text }) =>
              text === undefined
                ? Effect.fail(new PartError({ message: `no text at ${relPath}` }))
                : Effect.succeed(text)
            )
          ),
        upload: (computer, data, nameHint) =>
          withAgent((agent) =>
            Effect.map(agent.putBlob(computer, data, { nameHint }), ({ landingPath, sha256, totalSize }) => ({
              path: landingPath,
              sha256,
              size: totalSize
            }))
          )
      }
      return part
    }),

    makeComputer: Effect.fnUntraced(function* ({ config, folder, landing, name, port, token, values }) {
      const parsed = yield* asPart(Effect.fromResult(parseComputerConfig(config)))
      const content = {
        skills: { userFolder: join(folder, "skills", "user") },
        uploads: { folder: landing }
      }
      const layer = computerLayer({
        url: urlOf(port),
        name,
        token,
        protocol: line,
        config: parsed,
        inputs: { values },
        settings: { approvers: ["page"] },
        ...content
      })
      const computer = yield* asPart(
        Effect.map(Layer.build(Layer.provide(layer, [Policy.layerNone, AuditLog.layerNone])), (context) =>
          Context.get(context, Computer)
        )
      )
      return {
        join: (office) => asPart(computer.join({ office })),
        leave: computer.leave
      }
    })
  }
}
