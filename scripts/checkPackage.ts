/**
 * Tests the packed package in an empty project: installs the archive, imports every entry point, type-checks this and the
 * documented programs against the declarations, and runs the program of the README and the command.
 */
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { docsPrograms, programOptions } from "./docsPrograms.ts"
import { makePackedProject, run } from "./packedProject.ts"

const program = `
import { Effect, Layer } from "effect"
import { Agent, agentLayer, AuditLog, Authenticator, computerLayer, PROTOCOL_VERSION, Server, serverLayer } from "a2c-smcp"
import * as web from "a2c-smcp/agent"
import { organizeDesktop, parseWindowUri } from "a2c-smcp/domain"
import { makeMcpClient } from "a2c-smcp/llm"
import { A2cError, type ConnectedAgent, connectAgent, runComputer, runServer } from "a2c-smcp/promise"
import { MemoryMcp, MemoryTransport } from "a2c-smcp/testing"
import { defineTool, FileField } from "a2c-smcp/tools"

const desktop: ReadonlyArray<string> = organizeDesktop(
  [{ server: "s", uri: "window://h", contents: [{ text: "T" }] }],
  undefined,
  []
).entries
const program = Effect.map(Server, ({ url }) => {
  console.log(PROTOCOL_VERSION, desktop.length, parseWindowUri("window://h")._tag, url.startsWith("http://127.0.0.1:"))
  console.log([Agent, agentLayer, computerLayer, MemoryMcp.layer, MemoryTransport.layer, makeMcpClient, defineTool, FileField].every(Boolean))
})
await Effect.runPromise(Effect.provide(program, serverLayer().pipe(Layer.provide([Authenticator.layerAllowAll, AuditLog.layerNone]), Layer.orDie)))
const server = await runServer({ authenticate: "allowAll" })
const place = { url: server.url, office: "team" }
const computer = await runComputer({ ...place, name: "desk", config: { servers: {} } })
const agent: ConnectedAgent = await connectAgent({ ...place, name: "thinker" })
const names: ReadonlyArray<string> = (await agent.members()).map(({ name }) => name)
await agent.close()
console.log(names.toSorted().join(), await agent.view().catch((error) => error instanceof A2cError && error.code))
await (await web.connectAgent({ ...place, name: "page" })).close()
await computer.close()
await server.close()
`
/** The projects of users: with and without exact optional properties, and with and without the DOM. */
const projects = [true, false].flatMap((exactOptionalPropertyTypes) => [
  { exactOptionalPropertyTypes, lib: programOptions.lib, declarations: "" },
  // The declarations of effect name this type of the DOM.
  { exactOptionalPropertyTypes, lib: ["ES2024", "ESNext.Disposable"], declarations: "interface JsonWebKey {}" }
])

const scripted = {
  servers: { s: { type: "stdio", server_parameters: { command: "x" }, vrl: ".processed = true" } }
}

using project = makePackedProject()
const { archive, folder } = project
run("publint", ["--strict", archive])
run("attw", [archive, "--profile", "esm-only"])
writeFileSync(join(folder, "use.ts"), program)
const documented = docsPrograms()
for (const [index, { code }] of documented.entries()) writeFileSync(join(folder, `docs${index}.mts`), code)
for (const { declarations, ...options } of projects) {
  writeFileSync(join(folder, "globals.d.ts"), declarations)
  const compilerOptions = { ...programOptions, ...options, skipLibCheck: false }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts", "*.mts"] }))
  run("tsc", ["-p", folder])
}
const output = run(process.execPath, ["use.ts"], folder)
if (output !== "0.2.0 1 Success true\ntrue\ndesk,thinker closed\n") throw new Error(`the package printed:\n${output}`)
const wholeOffice = documented.findIndex(({ section }) => section === "One program")
const sum = run(process.execPath, [`docs${wholeOffice}.mts`], folder)
if (sum !== "The sum of 2 and 3 is 5.\n") throw new Error(`the program of the README printed:\n${sum}`)
const command = join(folder, "node_modules", ".bin", "a2c")
const help = run(process.execPath, [command, "--help"], folder)
if (!help.includes("a2c <subcommand>")) throw new Error(`the command printed:\n${help}`)
// VRL scripts run in a worker thread, whose file must be part of the package.
writeFileSync(join(folder, "mcp.json"), JSON.stringify(scripted))
const checked = run(process.execPath, [command, "computer", "check", "mcp.json"], folder)
if (!checked.includes("server s: stdio")) throw new Error(`the check printed:\n${checked}`)
// One of its MCP servers is not installed here, so it installs both.
process.env["XDG_CACHE_HOME"] = join(folder, "cache")
const tour = run(process.execPath, [command, "demo"], folder)
if (!/^The demo installs .*Done in /s.test(tour)) throw new Error(`the demo printed:\n${tour}`)
// The bundle, and not the modules, runs the command.
rmSync(join(folder, "node_modules/a2c-smcp/dist/main/cli/run.js"))
const agentHelp = run(process.execPath, [command, "agent", "--help"], folder)
if (!agentHelp.includes("a2c agent <subcommand>")) throw new Error(`the bundled command printed:\n${agentHelp}`)
process.stdout.write("the package works in an empty project\n")
// Its package is in the bundle only.
const hostConfig = run(process.execPath, [command, "agent", "--office", "team", "mcp", "config", "claude"], folder)
if (!hostConfig.includes('"office-team"')) throw new Error(`the configuration of a host was:\n${hostConfig}`)
