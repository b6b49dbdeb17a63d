/**
 * Measures the case `1k` once more, with a load that shares no code with the other loads: it speaks HTTP, WebSocket and
 * Socket.IO by hand. The Server is the command `a2c server` with default flags: the build, if there is one, or else the
 * sources. The other server is plain Socket.IO. Reads CPU times from /proc, so it needs Linux.
 * Usage: node bench/rawLoad.ts [ROUNDS]
 */
import { type ChildProcess, execFileSync, fork, spawn } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { join } from "node:path"

const rounds = Number(process.argv[2] ?? 20)
const pairs = 16
const callsInFlight = 4
const warmUpCalls = 100_000
const windowMillis = 400

const text = "A result of one kilobyte. ".repeat(40).slice(0, 1024)
const reply = `[{"content":[{"type":"text","text":"${text}"}],"isError":false}]`

/** Masks with a fixed key and frames a text as a client. */
const frame = (message: string): Buffer => {
  const payload = Buffer.from(message)
  const header = payload.length < 126 ? 6 : 8
  const bytes = Buffer.alloc(header + payload.length)
  bytes[0] = 0x81
  if (header === 6) bytes[1] = 0x80 | payload.length
  else {
    bytes[1] = 0x80 | 126
    bytes.writeUInt16BE(payload.length, 2)
  }
  const key = [0x35, 0xc2, 0x5a, 0x1e] as const
  bytes.set(key, header - 4)
  for (let index = 0; index < payload.length; index++) {
    bytes[header + index] = (payload[index] ?? 0) ^ key[(index & 3) as 0 | 1 | 2 | 3]
  }
  return bytes
}

/** Calls `receive` with every text of a server. All are shorter than 64 KiB. */
const readFrames = (receive: (message: string) => void) => {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk: Buffer): void => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (;;) {
      if (rest.length < 2) return
      const short = (rest[1] ?? 0) & 0x7f
      const header = short < 126 ? 2 : 4
      if (rest.length < header) return
      const length = short < 126 ? short : rest.readUInt16BE(2)
      if (rest.length < header + length) return
      const message = rest.toString("utf8", header, header + length)
      rest = rest.subarray(header + length)
      receive(message)
    }
  }
}

/** Connects and joins. `onPacket` gets the packets that follow. */
const member = async (port: number, role: "agent" | "computer", number: number, onPacket: (packet: string) => void) => {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true })
  const joined = Promise.withResolvers<Socket>()
  socket.on("error", joined.reject)
  socket.on("close", () => joined.reject(new Error("the server closed a connection")))
  let receive = (message: string) => {
    if (message.startsWith("0")) socket.write(frame(`40/smcp,{"role":"${role}"}`))
    else if (message.startsWith("40/smcp,")) {
      const session = JSON.stringify({ role, name: `${role}-${number}`, office_id: `raw-${number}` })
      socket.write(frame(`42/smcp,0["server:join_office",${session}]`))
    } else if (message.startsWith("43/smcp,0[true")) {
      receive = onPacket
      joined.resolve(socket)
    }
  }
  const onFrames = readFrames((message) => {
    if (message === "2") socket.write(frame("3"))
    else receive(message)
  })
  let head = ""
  const onHead = (chunk: Buffer) => {
    head += chunk.toString("latin1")
    const end = head.indexOf("\r\n\r\n")
    if (end === -1) return
    socket.off("data", onHead).on("data", onFrames)
    onFrames(Buffer.from(head.slice(end + 4), "latin1"))
  }
  socket.on("data", onHead)
  const lines = [
    "GET /smcp/?EIO=4&transport=websocket&a2c_version=0.2.0 HTTP/1.1",
    `Host: 127.0.0.1:${port}`,
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg=="
  ]
  socket.write(`${lines.join("\r\n")}\r\n\r\n`)
  return joined.promise
}

/** Runs calls of all pairs until `isDone`, and gives their number. */
type Run = (isDone: (calls: number) => boolean) => Promise<number>

const connectPairs = async (port: number): Promise<Run> => {
  let answered = 0
  let sent = 0
  let isDone: (calls: number) => boolean = () => true
  let onEnd = (): void => undefined
  const agents: Array<() => void> = []
  for (let number = 0; number < pairs; number++) {
    const computer = await member(port, "computer", number, (packet) => {
      const id = /^42\/smcp,(\d+)\[/.exec(packet)?.[1]
      if (id !== undefined) computer.write(frame(`43/smcp,${id}${reply}`))
    })
    let lastId = 0
    const call = () => {
      sent += 1
      lastId += 1
      const request = `{"agent":"agent-${number}","req_id":"${lastId}","computer":"computer-${number}","tool_name":"t","params":{"path":"a.md"},"timeout":60}`
      agent.write(frame(`42/smcp,${lastId}["client:tool_call",${request}]`))
    }
    const agent = await member(port, "agent", number, (packet) => {
      if (!packet.startsWith("43/smcp,")) return
      if (!packet.endsWith(reply)) throw new Error(`a wrong reply: ${packet.slice(0, 200)}`)
      answered += 1
      if (!isDone(answered)) call()
      else if (answered === sent) onEnd()
    })
    agents.push(call)
  }
  return (done) =>
    new Promise((resolve) => {
      answered = 0
      sent = 0
      isDone = done
      onEnd = () => resolve(answered)
      for (let count = 0; count < callsInFlight; count++) for (const call of agents) call()
    })
}

const children: Array<ChildProcess> = []

const pin = (pid: number, processor: number): void =>
  void execFileSync("taskset", ["-a", "-c", "-p", String(processor), String(pid)], { stdio: "ignore" })

interface Measured {
  readonly name: string
  readonly pid: number
  readonly run: Run
}

/** Connects to a started server, whose port `listening` gives. */
const measured = async (name: string, child: ChildProcess, listening: Promise<number>): Promise<Measured> => {
  children.push(child)
  const port = await listening
  const pid = child.pid ?? 0
  pin(pid, 0)
  return { name, pid, run: await connectPairs(port) }
}

const startSocketIo = () => {
  const child = fork(join(import.meta.dirname, "relay/servers/socketIo.ts"), { execArgv: ["--expose-gc"] })
  const listening = new Promise<number>((resolve) =>
    child.once("message", ({ address }: { readonly address: string }) => resolve(Number(address.split(":")[1])))
  )
  return measured("Socket.IO", child, listening)
}

const startCommand = () => {
  const [built, source] = ["../dist/command/dist/main/cli/a2c.cjs", "../src/main/cli/a2c.ts"].map((file) =>
    join(import.meta.dirname, file)
  )
  const file = existsSync(built ?? "") ? built : source
  const child = spawn(process.execPath, [file ?? "", "server", "--port", "0"], { stdio: ["ignore", "pipe", "ignore"] })
  const listening = new Promise<number>((resolve) => {
    child.stdout.setEncoding("utf8").on("data", (line: string) => {
      const port = /^listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1]
      if (port !== undefined) resolve(Number(port))
    })
  })
  return measured("a2c server", child, listening)
}

const ticksPerSecond = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }))

/** CPU time of a process in microseconds, in ticks of the kernel. */
const cpuTime = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? []
  return ((Number(fields[11]) + Number(fields[12])) * 1e6) / ticksPerSecond
}

const residentMegabytes = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((one, other) => one - other)[values.length >> 1] ?? Number.NaN

const measure = async ({ pid, run }: Measured): Promise<number> => {
  const before = cpuTime(pid)
  const end = performance.now() + windowMillis
  const calls = await run(() => performance.now() >= end)
  return (cpuTime(pid) - before) / calls
}

try {
  pin(process.pid, 1)
  const servers = [await startSocketIo(), await startCommand()] as const
  for (const { run } of servers) await run((calls) => calls >= warmUpCalls)
  const costs = { reference: new Array<number>(), ratio: new Array<number>() }
  for (let round = 0; round < rounds; round++) {
    const [reference, subject] = servers
    const isFirst = round % 2 === 0
    const first = await measure(isFirst ? reference : subject)
    const second = await measure(isFirst ? subject : reference)
    costs.reference.push(isFirst ? first : second)
    costs.ratio.push(isFirst ? second / first : first / second)
  }
  process.stdout.write(`CPU per call of plain Socket.IO: ${median(costs.reference).toFixed(1)} us\n`)
  process.stdout.write(`a2c server ÷ plain Socket.IO: ${median(costs.ratio).toFixed(2)}\n`)
  const [reference, subject] = servers.map(({ pid }) => residentMegabytes(pid).toFixed(0))
  process.stdout.write(`memory afterwards: a2c server ${subject} MB, plain Socket.IO ${reference} MB\n`)
} finally {
  for (const child of children) child.kill("SIGKILL")
}
process.exit(0)
