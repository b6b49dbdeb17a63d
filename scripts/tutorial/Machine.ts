import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { stripVTControlCharacters } from "node:util"

/** Milliseconds until a command must have printed its lines, with its download. */
const commandTimeout = 180_000

/** Milliseconds until Ctrl-C must have ended a service. */
const shutdownTimeout = 20_000

/** What a service prints when it works; all other commands must end. */
const readyLines: ReadonlyArray<readonly [command: RegExp, line: RegExp]> = [
  [/ server (?!key)|(?<!-)\bserver$/, /^listening on /m],
  [/ computer --/, /^joined office /m]
]

const escapeRegExp = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)

/** A documented line, where `…` stands for a text that differs each time. */
const patternOf = (line: string): RegExp =>
  new RegExp(`^${line.trimEnd().split("…").map(escapeRegExp).join(".*")}\\s*$`, "m")

/** A machine of a page: a folder, an empty home folder, and the processes that run there. */
export class Machine implements AsyncDisposable {
  readonly folder: string
  readonly #environment: { readonly [name: string]: string }
  readonly #children: Array<ChildProcess> = []
  readonly #exports: { [name: string]: string } = {}
  #umask = ""
  #output = ""
  /** The output before this place has been compared. */
  #compared = 0
  #pending: { readonly command: string; readonly child: ChildProcess; readonly from: number } | undefined

  constructor(folder: string, settings: { readonly npmrc: string; readonly variables: Record<string, string> }) {
    this.folder = join(folder, "work")
    const home = join(folder, "home")
    mkdirSync(this.folder, { recursive: true })
    mkdirSync(home)
    writeFileSync(join(home, ".npmrc"), settings.npmrc)
    this.#environment = { ...settings.variables, HOME: home, LANG: "C.UTF-8", TERM: "xterm" }
  }

  /** Waits for the previous command, and starts this one. */
  async start(command: string): Promise<void> {
    await this.settle()
    if (command.startsWith("umask ")) {
      this.#umask = `${command}; `
      return
    }
    const [, assignments] = /^export (.*)$/.exec(command) ?? []
    if (assignments !== undefined) {
      for (const [, name = "", value = ""] of assignments.matchAll(/(\w+)=(\S+)/g)) this.#exports[name] = value
      return
    }
    const env = { ...this.#environment, ...this.#exports }
    // A service asks for consent at a terminal, which `script` provides; it sends the shell's exit code on.
    const isService = readyLines.some(([pattern]) => pattern.test(command))
    const [file, ...args] = isService
      ? [
          "script",
          "--quiet",
          "--return",
          "--flush",
          "--command",
          `stty cols 120; ${this.#umask}${command}`,
          "/dev/null"
        ]
      : ["sh", "-c", `${this.#umask}${command}`]
    const child = spawn(file ?? "", args, { cwd: this.folder, env, detached: true, stdio: ["pipe", "pipe", "pipe"] })
    const append = (chunk: string) => {
      this.#output += stripVTControlCharacters(chunk).replaceAll("\r", "")
    }
    child.stdout?.setEncoding("utf8").on("data", append)
    child.stderr?.setEncoding("utf8").on("data", append)
    this.#children.push(child)
    this.#pending = { command, child, from: this.#output.length }
  }

  /** Waits until the started command has ended with 0, or, as a service, is ready. */
  async settle(): Promise<void> {
    if (this.#pending === undefined) return
    const { child, command, from } = this.#pending
    const [, ready] = readyLines.find(([pattern]) => pattern.test(command)) ?? []
    await this.#until(command, () =>
      ready === undefined ? child.exitCode === 0 : ready.test(this.#output.slice(from))
    )
    this.#pending = undefined
  }

  /** Waits until the machine has printed these lines, in this order, after those that were compared before. */
  async expect(block: string): Promise<void> {
    for (const line of block.split("\n").filter((line) => line.trim() !== "")) {
      const pattern = patternOf(line)
      await this.#until(`the line ${line}`, () => {
        const found = pattern.exec(this.#output.slice(this.#compared))
        if (found !== null) this.#compared += found.index + found[0].length
        return found !== null
      })
    }
  }

  /** All that the machine has printed. */
  get output(): string {
    return this.#output
  }

  /** Types a line at the latest service. */
  answer(line: string): void {
    this.#children.at(-1)?.stdin?.write(`${line}\n`)
  }

  async #until(subject: string, holds: () => boolean): Promise<void> {
    const deadline = performance.now() + commandTimeout
    while (!holds()) {
      const { child, command } = this.#pending ?? {}
      if (child !== undefined && child.exitCode !== null && child.exitCode !== 0)
        throw this.#failure(`exit code ${child.exitCode}: ${command}`)
      if (performance.now() > deadline) throw this.#failure(`timeout: ${subject}`)
      await sleep(50)
    }
  }

  #failure(message: string): Error {
    return new Error(`${message}\nnot compared yet:\n${this.#output.slice(this.#compared)}`)
  }

  /** Ends all processes of the machine with Ctrl-C, the latest first. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children.toReversed()) {
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) continue
      const ended = once(child, "exit")
      child.stdin?.write("\u0003")
      if ((await Promise.race([ended, sleep(shutdownTimeout, "late")])) === "late") process.kill(-child.pid, "SIGKILL")
      await ended
    }
  }
}
