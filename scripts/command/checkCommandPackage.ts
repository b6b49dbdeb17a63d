import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { promisify } from "node:util"
import { execFile } from "node:child_process"
import { makeFolder } from "../packedProject.ts"
import { startLocalRegistry } from "../tutorial/localRegistry.ts"

const maxMegabytes = 15

/** A configuration that needs the optional package. */
const scripted = {
  servers: { s: { type: "stdio", server_parameters: { command: "x" }, vrl: ".processed = true" } }
}

/** A pack whose imports are those of the host, with a pattern for the validator. */
const pack = `
import { defineTool } from "a2c-smcp/tools"
import { Effect, Schema } from "effect"
import * as Strings from "effect/String"
import { z } from "zod"

const params = Schema.Struct({ text: Schema.String.check(Schema.isPattern(/^[a-z]+$/)) })
export default defineTool({
  name: "shout",
  description: "Shouts",
  params,
  run: ({ text }) => Effect.succeed(z.string().parse(Strings.toUpperCase(text)))
})
`

const assertIncludes = (what: string, text: string, part: string): void => {
  if (!text.includes(part)) throw new Error(`${what} lacks '${part}':\n${text}`)
}

const megabytesIn = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { name, parentPath }) => sum + statSync(join(parentPath, name)).size, 0) / 1e6

interface Output {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/**
 * Checks the archive of the command in an empty folder with an empty cache: what is installed, and that all commands work
 * without another package.
 */
export const checkCommandPackage = async (archive: string): Promise<void> => {
  using project = makeFolder()
  const folder = join(project.folder, "project")
  const home = join(project.folder, "home")
  for (const made of [folder, home]) mkdirSync(made)
  const upstream = (await promisify(execFile)("npm", ["config", "get", "registry"])).stdout.trim()
  await using registry = await startLocalRegistry([archive], upstream)
  const env = {
    PATH: process.env["PATH"],
    HOME: home,
    npm_config_registry: registry.url,
    npm_config_update_notifier: "false"
  }

  /** Runs a program to its end. This process must be able to answer it as the registry. */
  const run = async (command: string, ...args: ReadonlyArray<string>): Promise<Output> => {
    const child = spawn(command, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] })
    const output = { stdout: "", stderr: "" }
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => (output[name] += text))
    }
    const [code] = (await once(child, "close")) as [number]
    return { code, ...output }
  }
  const succeed = async (command: string, ...args: ReadonlyArray<string>): Promise<string> => {
    const { code, stderr, stdout } = await run(command, ...args)
    if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}:\n${stdout}${stderr}`)
    return stdout
  }
  const timed = async (command: string, ...args: ReadonlyArray<string>): Promise<string> => {
    const start = performance.now()
    await succeed(command, ...args)
    return `${((performance.now() - start) / 1000).toFixed(1)} s`
  }

  const starting = await timed("npx", "-y", "a2c-cli", "--version")
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }')
  await succeed("npm", "install", "--no-audit", "--no-fund", "a2c-cli")
  const modules = join(folder, "node_modules")
  const packages = readdirSync(modules).filter((name) => !name.startsWith("."))
  if (packages.join() !== "a2c-cli") throw new Error(`it installs ${packages.join(", ")}`)
  const size = megabytesIn(modules)
  if (size > maxMegabytes) throw new Error(`it installs ${size.toFixed(1)} MB, at most ${maxMegabytes} are permitted`)

  const a2c = join(modules, ".bin/a2c")
  const { version } = JSON.parse(readFileSync(join(modules, "a2c-cli/package.json"), "utf8")) as {
    readonly version: string
  }
  assertIncludes("the version", await succeed(a2c, "--version"), version)
  assertIncludes("the help", await succeed(a2c, "agent", "--help"), "a2c agent <subcommand>")
  assertIncludes("the completion", await succeed(a2c, "--completions", "bash"), "a2c")
  assertIncludes("a host", await succeed(a2c, "agent", "--office", "team", "mcp", "config", "claude"), '"a2c-cli"')

  const config = join(folder, "scripted.json")
  writeFileSync(config, JSON.stringify(scripted))
  const missing = await run(a2c, "computer", "check", config)
  assertIncludes(
    "the check without the VRL package",
    missing.stderr + missing.stdout,
    "npm install @bpinternal/verel@0.2.0"
  )
  await succeed("npm", "install", "--no-audit", "--no-fund", "@bpinternal/verel@0.2.0")
  assertIncludes("the check", await succeed(a2c, "computer", "check", config), "server s: stdio")

  for (const language of ["typescript", "python"]) mkdirSync(join(folder, language))
  mkdirSync(join(folder, "typescript/shout"))
  writeFileSync(join(folder, "typescript/shout/shout_tool.ts"), pack)
  for (const flags of [[], ["--isolate"]]) {
    const shouted = await succeed(
      a2c,
      "tools",
      "call",
      "shout",
      "--dir",
      "typescript",
      "--args",
      '{"text":"hi"}',
      ...flags
    )
    assertIncludes("a pack", shouted, "HI")
  }
  await succeed(a2c, "tools", "new", "word_count", "--dir", "python", "--python")
  const python = await run(a2c, "tools", "list", "python", "--no-install")
  assertIncludes("a Python pack", python.stdout + python.stderr, "word_count")
  if (/can't open file/.test(python.stderr)) throw new Error(python.stderr)

  const demo = await succeed(a2c, "demo")
  if (!/^The demo installs .*Done in /s.test(demo)) throw new Error(`the demo printed:\n${demo}`)

  const started: Array<ChildProcess> = []
  /** Starts a command, and returns its first line that contains a text. */
  const start = async (text: string, ...args: ReadonlyArray<string>): Promise<string> => {
    const child = spawn(a2c, args, { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] })
    started.push(child)
    for await (const line of createInterface({ input: child.stdout })) if (line.includes(text)) return line
    throw new Error(`a2c ${args.join(" ")} ended before it printed '${text}'`)
  }
  try {
    const url = (await start("listening on ", "server", "--port", "0")).replace("listening on ", "")
    const page = await fetch(`${url}/office`)
    assertIncludes("the office page", await page.text(), "<script")
    const tools = { packs: { command: a2c, args: ["tools", "serve", "typescript", "--mcp", "stdio"] } }
    writeFileSync(join(folder, "mcp.json"), JSON.stringify({ mcpServers: tools }))
    const place = ["--server", url, "--office", "team"]
    await start("joined office", "computer", ...place, "--name", "desk", "--config", "mcp.json", "--approve", "*")
    assertIncludes("a call", await succeed(a2c, "agent", ...place, "call", "shout", "text=there"), "THERE")
  } finally {
    for (const child of started) {
      child.kill("SIGTERM")
      if (child.exitCode === null) await once(child, "exit")
    }
  }
  if (existsSync(join(folder, "node_modules/effect"))) throw new Error("the command needs effect")
  process.stdout.write(`a2c-cli works alone: ${size.toFixed(1)} MB, npx with an empty cache ${starting}\n`)
}
