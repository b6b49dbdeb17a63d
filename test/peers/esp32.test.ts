import { connect } from "node:net"
import { readFileSync } from "node:fs"
import { assert, it } from "@effect/vitest"
import { loadMicroPython } from "@micropython/micropython-webassembly-pyscript/micropython.mjs"
import { Effect, Layer, Redacted, Stream } from "effect"
import { authenticateByToken, DeviceGateway, gatewayLayer } from "../../src/main/entrypoints/index.ts"

const token = "a long random text"

/** The lamp of examples/esp32 in MicroPython; the socket is the only part of the board that is replaced. */
const startLamp = async () => {
  const python = await loadMicroPython()
  for (const name of ["device.py", "lamp.py"])
    python.FS.writeFile(`/${name}`, readFileSync(`examples/esp32/${name}`, "utf8"))
  python.runPython(`
import sys
sys.path.append("/")
from device import Device
from lamp import lamp_services
light = []
device = Device("lamp", ${JSON.stringify(token)}, lamp_services(light.append))
start = lambda: device.start().hex()
receive = lambda text: device.receive(bytes.fromhex(text)).hex() or ""
ping = lambda: device.ping().hex()
shown = lambda: str(light)
`)
  const call = (name: string, ...args: ReadonlyArray<string>): string => python.globals.get(name)(...args)
  return {
    start: () => Buffer.from(call("start"), "hex"),
    ping: () => Buffer.from(call("ping"), "hex"),
    receive: (chunk: Buffer) => Buffer.from(call("receive", chunk.toString("hex")), "hex"),
    light: () => call("shown")
  }
}

it.live("lights the lamp of examples/esp32 through a gateway", () =>
  Effect.gen(function* () {
    const { address, changes, session } = yield* DeviceGateway
    const lamp = yield* Effect.promise(startLamp)
    const received: Array<string> = []
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        const socket = connect(address.port, address.host)
        socket.write(lamp.start())
        // Single bytes: TCP may split a frame anywhere.
        socket.on("data", (chunk) => {
          received.push(chunk.toString())
          for (const byte of chunk) socket.write(lamp.receive(Buffer.of(byte)))
        })
        socket.write(lamp.ping())
        return socket
      }),
      (socket) => Effect.sync(() => socket.destroy())
    )
    yield* changes.pipe(
      Stream.takeUntil((devices) => devices.some(({ services }) => services.size > 0)),
      Stream.runDrain
    )
    const bright = yield* session.callTool("lamp__set_brightness", { percent: 40 })
    assert.deepStrictEqual(bright.structuredContent, { brightness: 40 })
    assert.strictEqual(lamp.light(), "[40]")
    const read = yield* session.callTool("lamp__get_brightness", {})
    assert.deepStrictEqual(read.structuredContent, { brightness: 40 })
    assert.include(received.join(""), "##INFO:PONG")
  }).pipe(
    Effect.scoped,
    Effect.provide(gatewayLayer({ port: 0, authenticate: authenticateByToken(Redacted.make(token)) }).pipe(Layer.orDie))
  )
)

it("reports a failed service, escapes markers, ignores invalid JSON and bounds a frame", async () => {
  const lamp = await startLamp()
  const call = (data: object) => {
    const payload = JSON.stringify({ type: "call", data }).replaceAll("#", String.raw`\u0023`)
    const frame = `##START\u0006mcp00001[0000]${payload}##END`
    return lamp.receive(Buffer.from(`noise${frame}`)).toString()
  }
  const failed = call({ call_id: "1", method: "set_brightness", params: { percent: 400 } })
  assert.match(failed, /^##START.mcp000010000\{.*"success": false.*from 0 to 100.*\}##END$/)
  const unknown = call({ call_id: "##END", method: "dance" })
  assert.include(unknown, String.raw`\u0023\u0023END`)
  assert.strictEqual(unknown.split("##END").length, 2)
  assert.strictEqual(lamp.receive(Buffer.from("##START\u0006mcp000010000{##END")).length, 0)
  assert.throws(() => lamp.receive(Buffer.alloc(9000)), /too large/)
})
