import { describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { publishHttp } from "../../../../src/adapters/mcp/publish/http/publishHttp.ts"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import * as TcpConnector from "../../../../src/adapters/tcp/TcpConnector.ts"
import { ByteConnector } from "../../../../src/application/ports/ByteLink.ts"
import type { ConnectCommandOptions, GatewayCommandOptions } from "../../../../src/main/cli/devices/flags.ts"
import { connectHttp } from "../../../adapters/mcp/publish/clients.ts"
import { playRaw, type RawPeer, registration } from "../../../application/devices/world.ts"
import { textResult, tool } from "../../../conformance/members.ts"
import { usedPort } from "../../../loopbackAddress.ts"
import type { CommandOutput } from "../../output.ts"
import { fileWriter, type FlagRow, type FlagRows, testFlags } from "../flagRows.ts"
import { a2cRunning } from "../inProcess.ts"
import { denyingPolicy, reloadsConfig } from "../reloadsConfig.ts"
import { folderOfTests } from "../../../folderOfTests.ts"

const fileWith = fileWriter(folderOfTests())

const token = `@${fileWith("token", "s3cret")}`

/** Starts a command of devices; the port of a gateway is free unless a flag names one. */
const devices = (...args: ReadonlyArray<string>) =>
  Effect.provide(
    a2cRunning("devices", ...args),
    ConfigProvider.layer(ConfigProvider.fromEnv({ env: { A2C_DEVICES_TCP: "0" } }))
  )

const listening = "listening for devices on "

const portIn = (line: string): number => Number(line.split(":").at(-1))

/** A running gateway, and devices that a test scripts. */
const gateway = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  const command = yield* devices("gateway", ...args)
  const port = portIn(yield* command.prints(listening))
  const device = Effect.gen(function* () {
    const { connect } = yield* ByteConnector
    return yield* playRaw(yield* Effect.orDie(connect({ host: "127.0.0.1", port })))
  }).pipe(Effect.provide(TcpConnector.layer))
  return { ...command, port, device }
})

/** A row of a flag: what a gateway with it does. */
const atGateway = (
  args: ReadonlyArray<string>,
  outcomes: FlagRow[1],
  outcome: (at: Effect.Success<ReturnType<typeof gateway>>) => ReturnType<FlagRow[2]>,
  others: ReadonlyArray<string> = []
): FlagRow => [args, outcomes, (given) => Effect.flatMap(gateway(...others, ...given), outcome)]

/** The reply of the gateway to a token. */
const replyTo = (sent: string, device: Effect.Success<ReturnType<typeof gateway>>["device"]) =>
  Effect.flatMap(device, ({ frame, nextText }) => Effect.andThen(frame("auth", sent), nextText))

const ping = ({ frame }: RawPeer) => frame("status", "##PING")

/** The text of the next frame, or `closed`. */
const nextOf = ({ nextText }: RawPeer) => Effect.catchCause(nextText, () => Effect.succeed("closed"))

/** What comes first after a registration of services: its acknowledgement or the reply to a later ping. */
const acknowledgement = Effect.fnUntraced(function* (
  { device }: Effect.Success<ReturnType<typeof gateway>>,
  ...services: ReadonlyArray<string>
) {
  const peer = yield* device
  yield* peer.message(registration(...services))
  yield* ping(peer)
  const text = yield* nextOf(peer)
  return text.startsWith("{") ? JSON.parse(text).data.services : text
})

const publishing = "publishing devices at "

/** A device with the service `work`, and an MCP client of the gateway. */
const published = Effect.fnUntraced(function* ({ device, prints }: Effect.Success<ReturnType<typeof gateway>>) {
  const peer = yield* device
  yield* peer.message(registration("work"))
  yield* ping(peer)
  yield* peer.nextText
  const client = yield* connectHttp((yield* prints(publishing)).replace(publishing, ""))
  const call = Effect.map(client.request("tools/call", { name: "device-1__work", arguments: {} }), (result) =>
    JSON.stringify(result)
  )
  return { call, client, peer }
})

const gatewayRows: FlagRows<Omit<GatewayCommandOptions, "limits"> & GatewayCommandOptions["limits"]> = {
  tcp: [
    ["--tcp"],
    ["listens", "in use"],
    Effect.fnUntraced(function* (given) {
      const port = yield* usedPort
      const { ended, prints } = yield* devices("gateway", ...given.flatMap((name) => [name, port]))
      const inUse = Effect.map(ended, (failure) =>
        String(failure).includes(`:${port}: the address is in use`) ? "in use" : "failed"
      )
      return yield* Effect.raceFirst(inUse, Effect.as(prints(listening), "listens"))
    })
  ],
  host: [
    ["--host", "0.0.0.0"],
    ["127.0.0.1", "0.0.0.0"],
    Effect.fnUntraced(function* (given) {
      const { prints } = yield* devices("gateway", "--token", token, ...given)
      return (yield* prints(listening)).replace(listening, "").split(":")[0]
    })
  ],
  token: atGateway(["--token", token], ["##INFO:AUTHENTICATED", "##ERROR:the token is not valid"], ({ device }) =>
    replyTo("guess", device)
  ),
  tokens: atGateway(
    ["--tokens", fileWith("tokens.json", '{"lamp": "s3cret"}')],
    ["desk", "lamp"],
    Effect.fnUntraced(function* ({ device, prints }) {
      yield* replyTo("s3cret##name:desk", device)
      return /device=(\w+)/.exec(yield* prints("device connected", "stderr"))?.[1]
    })
  ),
  stdio: [
    ["--stdio"],
    ["stdout", "stderr"],
    Effect.fnUntraced(function* (given) {
      const { prints } = yield* devices("gateway", ...given)
      return yield* Effect.raceFirst(
        Effect.as(prints(listening), "stdout"),
        Effect.as(prints(listening, "stderr"), "stderr")
      )
    })
  ],
  http: atGateway(["--http", "0"], ["warns", "publishes"], ({ prints }) =>
    Effect.raceFirst(
      Effect.as(prints("device tools are not published", "stderr"), "warns"),
      Effect.as(prints(publishing), "publishes")
    )
  ),
  mcpToken: atGateway(
    ["--mcp-token", token],
    [false, true],
    Effect.fnUntraced(function* ({ prints }) {
      const url = (yield* prints(publishing)).replace(publishing, "")
      return yield* Effect.promise(async () => (await fetch(url, { method: "POST" })).status === 401)
    }),
    ["--http", "0"]
  ),
  acknowledge: atGateway(["--acknowledge"], ["##INFO:PONG", 1], (at) => acknowledgement(at, "one")),
  maxDevices: atGateway(
    ["--max-devices", "1"],
    ["##INFO:PONG", "closed"],
    Effect.fnUntraced(function* ({ device }) {
      const [one, other] = [yield* device, yield* device]
      yield* ping(one)
      yield* one.nextText
      yield* ping(other)
      return yield* nextOf(other)
    })
  ),
  maxServices: atGateway(["--max-services", "1"], [2, 1], (at) => acknowledgement(at, "one", "two"), ["--acknowledge"]),
  maxCalls: atGateway(
    ["--max-calls", "1"],
    ["sent", "rejected"],
    Effect.fnUntraced(function* (at) {
      const { call, peer } = yield* published(at)
      yield* Effect.forkScoped(call)
      yield* peer.nextMessage
      return yield* Effect.raceFirst(
        Effect.map(call, (text) => (text.includes("1 calls are in flight") ? "rejected" : text)),
        Effect.as(peer.nextMessage, "sent")
      )
    }),
    ["--http", "0"]
  ),
  maxPayloadBytes: atGateway(["--max-payload", "20"], [1, "##INFO:PONG"], (at) => acknowledgement(at, "one"), [
    "--acknowledge"
  ]),
  maxBufferedBytes: atGateway(
    ["--max-buffered", "10000"],
    ["##INFO:PONG", "buffer_limit_exceeded"],
    Effect.fnUntraced(function* ({ device, prints }) {
      const peer = yield* device
      yield* peer.frame("auth", "any")
      yield* peer.nextText
      // Larger than what one read of a socket gives: the gateway keeps its start until the rest arrives.
      yield* peer.message(registration("x".repeat(300_000)))
      yield* ping(peer)
      const text = yield* nextOf(peer)
      return text === "closed" ? /reason="(\w+)/.exec(yield* prints("device disconnected", "stderr"))?.[1] : text
    })
  ),
  callTimeout: [
    ["--timeout", "7"],
    ["30", "7"],
    Effect.fnUntraced(function* (given) {
      const { call, peer } = yield* published(yield* gateway("--http", "0", ...given))
      const calling = yield* Effect.forkScoped(call)
      yield* peer.nextMessage
      yield* TestClock.adjust("30 seconds")
      return /did not answer within (\d+) seconds/.exec(yield* Fiber.join(calling))?.[1]
    }, Effect.provide(TestClock.layer()))
  ],
  idleTimeout: [
    ["--idle", "7"],
    ["##INFO:PONG", "##ERROR:idle_timeout"],
    Effect.fnUntraced(function* (given) {
      const { device } = yield* gateway(...given)
      const peer = yield* device
      yield* ping(peer)
      yield* peer.nextText
      yield* TestClock.adjust("7 seconds")
      yield* ping(peer)
      return (yield* nextOf(peer)).split(": ")[0]
    }, Effect.provide(TestClock.layer()))
  ]
}

/** The configuration of an MCP server with tools; its URL may be the value of an input. */
const configOf = Effect.fnUntraced(function* (names: ReadonlyArray<string>, hasInput = false) {
  const tools = names.map((name) => tool(name, () => Effect.succeed(textResult("ran"))))
  const { connect } = yield* makeMemoryMcpServer({ tools })
  const { url } = yield* publishHttp(yield* connect, { port: 0, token: "allowAll" })
  const alpha = { type: "streamable", server_parameters: { url: hasInput ? "${input:url}" : url } }
  const inputs = hasInput ? [{ id: "url", type: "promptString" }] : []
  return { url, text: JSON.stringify({ inputs, servers: { alpha } }) }
})

let files = 0

/** The file of a configuration with the tool `work`. */
const workConfig = Effect.map(configOf(["work"]), ({ text }) => fileWith(`config-${files++}.json`, text))

/** The number of services that a device registers, or the message of its failure. */
const registered = ({ ended, prints }: CommandOutput<unknown>) =>
  Effect.catchCause(
    Effect.map(prints("registered "), (line) => /registered (\d+)/.exec(line)?.[1]),
    () => Effect.map(ended, String)
  )

/** A row of a flag: what a device with it does at a gateway. */
const atDevice = (
  args: ReadonlyArray<string>,
  outcomes: FlagRow[1],
  outcome: (device: CommandOutput<unknown>, at: Effect.Success<ReturnType<typeof gateway>>) => ReturnType<FlagRow[2]>,
  gatewayFlags: ReadonlyArray<string> = []
): FlagRow => [
  args,
  outcomes,
  Effect.fnUntraced(function* (given) {
    const at = yield* gateway(...gatewayFlags)
    const named = given.includes("--name") ? given : ["--name", "desk", ...given]
    const place = ["--to", `127.0.0.1:${at.port}`, "--config", yield* workConfig]
    return yield* outcome(yield* devices("connect", ...place, ...named), at)
  })
]

/** The result of a call of the tool of a device, by an MCP client of the gateway. */
const called = (device: CommandOutput<unknown>, at: Effect.Success<ReturnType<typeof gateway>>) =>
  Effect.gen(function* () {
    yield* registered(device)
    yield* at.prints("device registered", "stderr")
    const client = yield* connectHttp((yield* at.prints(publishing)).replace(publishing, ""))
    const result = yield* client.request("tools/call", { name: "desk__work", arguments: {} })
    return /ran|needs confirmation|never here/.exec(JSON.stringify(result))?.[0]
  })

const connectRows: FlagRows<ConnectCommandOptions> = {
  address: [
    ["--to"],
    [false, true],
    Effect.fnUntraced(function* (given) {
      const { port } = yield* gateway()
      const to = given.flatMap((name) => [name, `127.0.0.1:${port}`])
      return (yield* registered(yield* devices("connect", ...to, "--config", yield* workConfig))) === "1"
    })
  ],
  name: atDevice(
    ["--name", "lamp"],
    ["desk", "lamp"],
    Effect.fnUntraced(function* (_, { prints }) {
      return /device=(\w+)/.exec(yield* prints("device connected", "stderr"))?.[1]
    })
  ),
  token: atDevice(
    ["--token", token],
    ["CommandFailed: the device server rejected the device: the token is not valid", "1"],
    registered,
    ["--token", token]
  ),
  configFiles: [
    ["--config"],
    ["CommandFailed: --config FILE is required", "1"],
    Effect.fnUntraced(function* (given) {
      const { port } = yield* gateway()
      const file = yield* workConfig
      const config = given.flatMap((name) => [name, file])
      return yield* registered(yield* devices("connect", "--to", `127.0.0.1:${port}`, ...config))
    })
  ],
  inputs: [
    ["--input"],
    ["0", "1"],
    Effect.fnUntraced(function* (given) {
      const { port } = yield* gateway()
      const { text, url } = yield* configOf(["work"], true)
      const input = given.flatMap((name) => [name, `url=${url}`])
      const config = fileWith("input.json", text)
      return yield* registered(yield* devices("connect", "--to", `127.0.0.1:${port}`, "--config", config, ...input))
    })
  ],
  watch: [
    ["--no-watch"],
    [true, false],
    Effect.fnUntraced(function* (given) {
      const { port } = yield* gateway()
      const [config, policy] = [yield* workConfig, fileWith("watched.yaml", denyingPolicy("once"))]
      const args = ["--to", `127.0.0.1:${port}`, "--config", config, "--policy", policy, ...given]
      const device = yield* devices("connect", ...args)
      yield* registered(device)
      const { text } = yield* configOf(["work", "more"])
      return yield* reloadsConfig(device, { config, policy }, text, given.length === 0)
    })
  ],
  approve: atDevice(["--approve", "work"], ["needs confirmation", "ran"], called, ["--http", "0"]),
  policy: atDevice(
    ["--policy", fileWith("policy.yaml", denyingPolicy("never here"))],
    ["needs confirmation", "never here"],
    called,
    ["--http", "0"]
  )
}

describe("a flag of a2c devices gateway", () => {
  testFlags(gatewayRows)
})
describe("a flag of a2c devices connect", () => {
  testFlags(connectRows)
})

describe("a2c devices gateway", () => {
  it.live("warns that a file of tokens replaces the token of all devices", () =>
    Effect.gen(function* () {
      const { prints } = yield* gateway("--token", token, "--tokens", fileWith("both.json", '{"lamp": "other"}'))
      yield* prints('flags without effect flags=["--token"] rule="not with --tokens"', "stderr")
    })
  )
})
