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
import { makePackedProject, run } from "./packedProject.ts"

const registry = "github.com/modelcontextprotocol/registry@v1.8.9"
const actionlint = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"

const readJson = <A>(file: string): A => JSON.parse(readFileSync(file, "utf8")) as A

const checkRegistryEntry = () => {
  const { Dir } = JSON.parse(run("go", ["mod", "download", "-json", registry], tmpdir())) as { readonly Dir: string }
  const entry = readJson<{ readonly $schema: string; readonly name: string }>("server.json")
  const date = /\/schemas\/([\d-]+)\//.exec(entry.$schema)?.[1] ?? "none"
  const ajv = new Ajv({ strict: false, validateFormats: false })
  const validate = ajv.compile(readJson<object>(join(Dir, "internal/validators/schemas", `${date}.json`)))
  if (!validate(entry)) throw new Error(ajv.errorsText(validate.errors))
  if (entry.name !== readJson<{ readonly mcpName: string }>("package.json").mcpName) {
    throw new Error("its name is not the mcpName of package.json")
  }
  return `valid by the schema of ${date}`
}

const checkWorkflows = () => {
  run("go", ["run", actionlint])
  return "no findings"
}

const checkPackage = () => {
  const output = run("npm", ["publish", "--dry-run", "--ignore-scripts", "--json", "--provenance=false"])
  const { "a2c-smcp": published } = JSON.parse(output) as {
    readonly "a2c-smcp": { readonly size: number; readonly unpackedSize: number }
  }
  const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`
  return `${megabytes(published.size)}, unpacked ${megabytes(published.unpackedSize)}`
}

/** Of an installed package: in this project, npm also loses packages that are needed for development. */
const checkComponents = () => {
  using project = makePackedProject([])
  const text = run("npm", ["sbom", "--sbom-format=cyclonedx", "--sbom-type=library"], project.folder)
  const { components } = JSON.parse(text) as { readonly components: ReadonlyArray<{ readonly name: string }> }
  const names = new Set(components.map(({ name }) => name))
  if (!names.has("effect") || !names.has("a2c-smcp")) throw new Error("they are not those of the package")
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
  const server = spawn(process.execPath, ["dist/main/cli/a2c.js", "server", "--port", "0"], {
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
  package: checkPackage,
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
