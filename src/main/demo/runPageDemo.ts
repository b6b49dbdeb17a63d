import { join } from "node:path"
import { Context, Effect, FileSystem, Layer, Random, Redacted, References, Stream } from "effect"
import { AuditLog } from "../../application/ports/AuditLog.ts"
import { Policy } from "../../application/ports/approvals/Policy.ts"
import { makeDocumentServer } from "../../adapters/dpe/DocumentServer.ts"
import { Agent } from "../../application/agent/Agent.ts"
import type { ComputerOperatorAccess } from "../../application/computer/office/operatorAccess.ts"
import { Authenticator } from "../../application/ports/Authenticator.ts"
import { Server } from "../../application/server/lifecycle/Server.ts"
import type { JsonObject } from "../../domain/json.ts"
import { printText } from "../cli/output/print.ts"
import { agentLayer } from "../layers/agentLayer.ts"
import { computerLayer, makeFunctions } from "../layers/computerLayer.ts"
import { serverLayer } from "../layers/serverLayer.ts"
import { labConfig, pageDeskConfig } from "./demoConfigs.ts"
import * as TcpConnector from "../../adapters/tcp/TcpConnector.ts"
import { authenticateByToken } from "../../adapters/auth/deviceTokens.ts"
import { SchemaValidator } from "../../application/ports/SchemaValidator.ts"
import { connectDevice } from "../../application/devices/client/DeviceClient.ts"
import { DeviceGateway } from "../../application/devices/gateway/DeviceGateway.ts"
import { PackHost } from "../../application/packs/PackHost.ts"
import { secureRandomBytes } from "../../application/shared/secureRandom.ts"
import { writePack } from "../cli/tools/newPack.ts"
import { gatewayLayer } from "../layers/gatewayLayer.ts"
import { packHostLayer } from "../layers/packHostLayer.ts"

const lamp = Effect.suspend(() => {
  let isOn = false
  const text = () => (isOn ? "The lamp is on." : "The lamp is off.")
  const params = { type: "object", properties: { on: { type: "boolean" } }, required: ["on"] }
  const turn = ({ on }: { readonly on?: unknown }) => {
    isOn = on === true
    return text()
  }
  return makeFunctions({
    tools: [
      { name: "switch", description: "Switches the lamp on or off", params, run: turn },
      { name: "state", description: "Tells whether the lamp is on", run: text }
    ]
  })
})

/** A gateway with one device, a lamp, over TCP; its session. */
export const lampSession = Effect.gen(function* () {
  const token = Redacted.make(Buffer.from(secureRandomBytes(24)).toString("base64url"))
  const context = yield* Layer.build(gatewayLayer({ port: 0, authenticate: authenticateByToken(token) }))
  const { address, changes, session } = Context.get(context, DeviceGateway)
  const { session: device } = yield* lamp
  const connecting = Effect.asVoid(connectDevice(device, { ...address, name: "lamp", token }))
  // The gateway validates the calls.
  const ports = Layer.merge(TcpConnector.layer, SchemaValidator.layerAllowAll)
  yield* Effect.provide(connecting, yield* Layer.build(ports))
  yield* Stream.runDrain(Stream.takeUntil(changes, (devices) => devices.some(({ services }) => services.size > 0)))
  return session
})

/** A host of one tool pack; its session. */
export const packSession = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const folder = join(yield* fs.makeTempDirectoryScoped({ prefix: "a2c-demo-packs-" }), "packs")
  yield* writePack({ dir: folder, name: "text_counter", python: false })
  const context = yield* Layer.build(packHostLayer({ folders: [folder], install: false, watch: false }))
  const { rescan, session } = Context.get(context, PackHost)
  yield* rescan
  return session
})

const office = "demo"

/** Everything that a Computer may share. */
const operators: ComputerOperatorAccess = { states: true, stderr: true, calls: true }

/** The time that a person takes to consent. */
const consentDelay = "3 seconds"

/** The pause between two calls of the Agent. */
const pause = "1500 millis"

const calls: ReadonlyArray<{ readonly computer: string; readonly tool: string; readonly params: JsonObject }> = [
  { computer: "lab", tool: "add", params: { a: 40, b: 2 } },
  { computer: "lab", tool: "echo", params: { message: "Hello, office!" } },
  { computer: "lab", tool: "trigger-long-running-operation", params: { duration: 4, steps: 8 } },
  { computer: "desk", tool: "add_note", params: { text: "Water the plants" } },
  { computer: "desk", tool: "add_note", params: { text: "Call the dentist" } },
  { computer: "desk", tool: "read_graph", params: {} },
  { computer: "desk", tool: "lamp__switch", params: { on: true } },
  { computer: "desk", tool: "lamp__switch", params: { on: false } },
  { computer: "desk", tool: "text_counter", params: { text: "Everything is text" } },
  { computer: "desk", tool: "clear_notes", params: {} },
  { computer: "desk", tool: "make_coffee", params: {} }
]

/** Calls tools, now and then two at a time, until it is interrupted. */
const work = ({ callTool }: Agent["Service"]) =>
  Effect.gen(function* () {
    const index = yield* Random.nextIntBetween(0, calls.length)
    const call = calls[index]
    if (call !== undefined) yield* Effect.forkScoped(Effect.ignore(callTool({ ...call, timeout: 20 })))
    yield* Effect.sleep(pause)
  }).pipe(Effect.forever, Effect.scoped)

/** Runs an office in this process until it is stopped, for the office page. */
export const runPageDemo = Effect.fnUntraced(
  function* () {
    const { url } = Context.get(yield* Layer.build(serverLayer({ page: { bodies: {} } })), Server)
    const member = { url, office }
    const confirm = () => Effect.delay(Effect.succeed(true), consentDelay)
    const { resolve } = yield* makeDocumentServer({ port: 0 })
    const desk = Effect.gen(function* () {
      const config = yield* pageDeskConfig
      const sessions = { devices: yield* lampSession, packs: yield* packSession }
      const settings = { resolveDpe: resolve, approvers: ["page"] as const }
      yield* Layer.build(computerLayer({ ...member, name: "desk", config, sessions, settings, operators, confirm }))
    })
    const lab = Effect.gen(function* () {
      const config = yield* labConfig
      yield* Layer.build(computerLayer({ ...member, name: "lab", config, operators }))
    })
    yield* printText(
      `Open ${url}/office/ in a browser. Ctrl+C ends the demo. To show failures, its MCP server calendar does not start, and some calls fail.`
    )
    yield* Effect.all([desk, lab], { concurrency: 2, discard: true })
    const agent = Context.get(yield* Layer.build(agentLayer({ ...member, name: "demo-agent" })), Agent)
    yield* agent.settled
    return yield* work(agent)
  },
  Effect.provide([Authenticator.layerAllowAll, AuditLog.layerNone, Policy.layerNone]),
  Effect.provideService(References.MinimumLogLevel, "Error")
)
