import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { delimiter, dirname, join, resolve } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { guardChild } from "../../test/childGuard.ts"
import { loopbackAddress } from "../../test/loopbackAddress.ts"

/** A command line with its environment. */
export interface Start {
  readonly args: ReadonlyArray<string>
  readonly env?: { readonly [name: string]: string }
}

interface Service {
  readonly output: () => string
  /** Sends SIGTERM and returns the exit code. */
  readonly stop: () => Promise<number | null>
}

/** The longest time in milliseconds until a service is ready. */
const startTimeout = 60_000

/** Repeats an attempt until it gives true. */
export const until = async (what: string, attempt: () => Promise<boolean>): Promise<void> => {
  const end = performance.now() + startTimeout
  while (!(await attempt().catch(() => false))) {
    if (performance.now() > end) throw new Error(`not in time: ${what}`)
    await sleep(100)
  }
}

/** True when a Redis at this address answers a ping. */
export const pings = ({ host, port }: { readonly host: string; readonly port: number }): Promise<boolean> =>
  new Promise((answer, reject) => {
    const socket = connect({ host, port }, () => socket.write("PING\r\n"))
    socket.on("error", reject)
    socket.once("data", (data) => {
      socket.destroy()
      answer(data.toString().startsWith("+PONG"))
    })
  })

/**
 * A folder instead of the root of containers and machines, and loopback addresses instead of their names. Commands
 * of the deployment run in it with their own arguments and files.
 */
export class Site implements AsyncDisposable {
  readonly root = mkdtempSync(join(tmpdir(), "a2c-deploy-"))
  readonly addresses = { server: loopbackAddress(), redis: loopbackAddress(), prometheus: loopbackAddress() }
  readonly #a2c: string
  readonly #children: Array<ChildProcess> = []

  /** `a2c` is the folder with the command. */
  constructor(a2c: string) {
    this.#a2c = a2c
  }

  /** Replaces paths and addresses. */
  localize(text: string): string {
    const { prometheus, redis, server } = this.addresses
    return text
      .replaceAll(/\bserver:7070\b/g, `${server.host}:${server.port}`)
      .replaceAll(/\bredis:6379\b/g, `${redis.host}:${redis.port}`)
      .replaceAll(/\bprometheus:9090\b/g, `${prometheus.host}:${prometheus.port}`)
      .replaceAll(/(?<![\w./])\/(?:run\/secrets|etc|var|data|prometheus)\b/g, (path) => this.root + path)
  }

  /** Writes a file at the place that it has in a container. */
  write(path: string, text: string): void {
    const file = join(this.root, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, this.localize(text))
  }

  copy(from: string, to: string): void {
    this.write(to, readFileSync(from, "utf8"))
  }

  /** The environment of the image, with the address of this Server. MCP servers are those of the tests. */
  env(env: Start["env"] = {}): { readonly [name: string]: string } {
    const { host, port } = this.addresses.server
    const path = [this.#a2c, resolve("node_modules/.bin"), process.env["PATH"]].join(delimiter)
    const given = Object.entries(env).map(([name, value]) => [name, this.localize(value)] as const)
    const image = { PATH: path, HOME: join(this.root, "home"), NODE_ENV: "production" }
    return { ...image, ...Object.fromEntries(given), A2C_HOST: host, A2C_PORT: String(port) }
  }

  get url(): string {
    const { host, port } = this.addresses.server
    return `http://${host}:${port}`
  }

  start({ args, env }: Start): Service {
    const [command = "", ...rest] = args.map((arg) => this.localize(arg))
    const child = guardChild(
      spawn(command, rest, { cwd: this.root, env: this.env(env), stdio: ["ignore", "pipe", "pipe"] })
    )
    this.#children.push(child)
    let output = ""
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => (output += text))
    }
    child.on("error", (error) => (output += error.message))
    return {
      output: () => output,
      stop: async () => {
        if (child.exitCode === null && child.signalCode === null) {
          child.kill("SIGTERM")
          await once(child, "exit")
        }
        return child.exitCode
      }
    }
  }

  /** Starts a service and waits until it is ready. Its output is part of the error when it is not. */
  async startReady(start: Start, isReady: (service: Service) => Promise<boolean>): Promise<Service> {
    const service = this.start(start)
    try {
      await until(start.args.join(" "), () => isReady(service))
    } catch (error) {
      throw new Error(`${String(error)}\n${service.output()}`)
    }
    return service
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children.toReversed()) {
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) continue
      child.kill("SIGKILL")
      await once(child, "exit")
    }
    rmSync(this.root, { recursive: true, force: true })
  }
}
