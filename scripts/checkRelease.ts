/**
 * Checks what a release publishes: `server.json` for the MCP registry, the workflows, the package, its list of components,
 * and the extension for Claude Desktop, which is unpacked, started, and asked for its tools. Needs `npm run build` before,
 * and Go for the tools of other projects. Writes the list and the extension to `release`.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { Ajv } from "ajv"
import { commandFolder } from "./command/buildCommand.ts"
import { makeFolder, makePackedProject, packArchives, run } from "./packedProject.ts"

const registry = "github.com/modelcontextprotocol/registry@v1.8.9"
const actionlint = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"

const readJson = <A>(file: string): A => JSON.parse(readFileSync(file, "utf8")) as A

interface Published {
  readonly name: string
  readonly version: string
  readonly mcpName?: string
}

interface RegistryEntry {
  readonly $schema: string
  readonly name: string
  readonly packages: ReadonlyArray<{ readonly identifier: string; readonly version: string }>
}

const checkRegistryEntry = () => {
  const { Dir } = JSON.parse(run("go", ["mod", "download", "-json", registry], tmpdir())) as { readonly Dir: string }
  const entry = readJson<RegistryEntry>("server.json")
  const date = /\/schemas\/([\d-]+)\//.exec(entry.$schema)?.[1] ?? "none"
  const ajv = new Ajv({ strict: false, validateFormats: false })
  const validate = ajv.compile(readJson<object>(join(Dir, "internal/validators/schemas", `${date}.json`)))
  if (!validate(entry)) throw new Error(ajv.errorsText(validate.errors))
  const { mcpName, name, version } = readJson<Published>(join(commandFolder, "package.json"))
  const [published] = entry.packages
  if (entry.name !== mcpName || published?.identifier !== name || published.version !== version) {
    throw new Error(`it is not about ${name} ${version}, which says that it is ${mcpName}`)
  }
  return `valid by the schema of ${date}`
}

const checkWorkflows = () => {
  run("go", ["run", actionlint])
  return "no findings"
}

/** What npm would publish of a folder. */
const checkPackage = (folder: string) => {
  const { name } = readJson<Published>(join(folder, "package.json"))
  const output = run("npm", ["publish", "--dry-run", "--ignore-scripts", "--json", "--provenance=false"], folder)
  const published = (JSON.parse(output) as { readonly [name: string]: PublishedFiles })[name]
  if (published === undefined) throw new Error(`npm would publish another package than ${name}`)
  const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`
  return `${name}, ${megabytes(published.size)}, unpacked ${megabytes(published.unpackedSize)}`
}

interface PublishedFiles {
  readonly size: number
  readonly unpackedSize: number
}

/** Of installed packages: in this project, npm also loses packages that are needed for development. */
const checkComponents = () => {
  using packed = makeFolder()
  const { command, library } = packArchives(packed.folder)
  using project = makePackedProject([command, library])
  const text = run("npm", ["sbom", "--sbom-format=cyclonedx", "--sbom-type=library"], project.folder)
  const { components } = JSON.parse(text) as { readonly components: ReadonlyArray<{ readonly name: string }> }
  const names = new Set(components.map(({ name }) => name))
  if (!["a2c-cli", "a2c-smcp", "effect"].every((name) => names.has(name))) {
    throw new Error("they are not those of the packages")
  }
  mkdirSync("release", { recursive: true })
  writeFileSync("release/sbom.cdx.json", text)
  return `${components.length} packages`
}

interface Extension {
  readonly server: {
    readonly mcp_config: {
      readonly args: ReadonlyArray<string>
      readonly env: { readonly [name: string]: string }
    }
  }
}

const toolsOfExtension = async (folder: string, server: string): Promise<string> => {
  const settings: { readonly [name: string]: string } = { server, office: "team", name: "desktop", token: "" }
  const fill = (text: string) =>
    text.replace("${__dirname}", folder).replace(/\$\{user_config\.(\w+)\}/, (_, name: string) => settings[name] ?? "")
  const { args, env } = readJson<Extension>(join(folder, "manifest.json")).server.mcp_config
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: args.map(fill),
    env: Object.fromEntries(Object.entries(env).map(([name, text]) => [name, fill(text)]))
  })
  const client = new Client({ name: "release", version: "1" })
  await client.connect(transport)
  const { tools } = await client.listTools()
  await client.close()
  return tools.map(({ name }) => name).join(", ")
}

const checkExtension = async () => {
  const folder = mkdtempSync(join(tmpdir(), "a2c-extension-"))
  const server = spawn(process.execPath, [join(commandFolder, "dist/main/cli/a2c.cjs"), "server", "--port", "0"], {
    stdio: ["ignore", "pipe", "ignore"]
  })
  try {
    run(process.execPath, ["scripts/buildMcpb.ts"])
    run("mcpb", ["unpack", "release/a2c-smcp.mcpb", folder])
    const [line] = (await once(createInterface(server.stdout), "line")) as [string]
    const tools = await toolsOfExtension(folder, line.replace("listening on ", ""))
    if (!tools.includes("computers_list")) throw new Error(`its tools are ${tools}`)
    return `offers ${tools}`
  } finally {
    server.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}

const checks = {
  "server.json": checkRegistryEntry,
  workflows: checkWorkflows,
  library: () => checkPackage("."),
  command: () => checkPackage(commandFolder),
  components: checkComponents,
  extension: checkExtension
}
for (const [name, check] of Object.entries(checks)) {
  try {
    process.stdout.write(`${name}: ${await check()}\n`)
  } catch (error) {
    process.stdout.write(`${name}: failed: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}
