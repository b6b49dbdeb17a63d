/**
 * Tests both packed packages in empty projects. Imports every entry point of `a2c-smcp`, type-checks this and the documented
 * programs against the declarations, and runs the program of the README. Bundles pages. Then checks the package of the
 * command.
 */
import { spawnSync } from "node:child_process"
import { cpSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { checkPageBundles } from "./checkPageBundles.ts"
import { checkCommandPackage } from "./command/checkCommandPackage.ts"
import { docsPrograms, programOptions } from "./docsPrograms.ts"
import { makeFolder, makePackedProject, packArchives, run } from "./packedProject.ts"

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
  // The declarations of effect and of the MCP SDK name these types of the DOM.
  {
    exactOptionalPropertyTypes,
    lib: ["ES2024", "ESNext.Disposable"],
    declarations: "interface JsonWebKey {}\ntype HeadersInit = Record<string, string>"
  }
])

using packed = makeFolder()
const { command, library } = packArchives(packed.folder)
run("publint", ["--strict", library])
run("attw", [library, "--profile", "esm-only"])
using project = makePackedProject([library, "@modelcontextprotocol/server-everything"])
const { folder } = project
writeFileSync(join(folder, "use.ts"), program)
const documented = docsPrograms()
for (const [index, { code }] of documented.entries()) writeFileSync(join(folder, `docs${index}.mts`), code)
for (const { declarations, ...options } of projects) {
  writeFileSync(join(folder, "globals.d.ts"), declarations)
  const compilerOptions = { ...programOptions, ...options, skipLibCheck: false }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts", "*.mts"] }))
  run("tsc", ["-p", folder])
}
const used = () => {
  const output = run(process.execPath, ["use.ts"], folder)
  if (output !== "0.2.0 1 Success true\ntrue\ndesk,thinker closed\n") throw new Error(`the package printed:\n${output}`)
}
used()
await checkPageBundles(folder)
const wholeOffice = documented.findIndex(({ section }) => section === "One program")
const sum = run(process.execPath, [`docs${wholeOffice}.mts`], folder)
if (sum !== "The sum of 2 and 3 is 5.\n") throw new Error(`the program of the README printed:\n${sum}`)
// Installers that nest packages may give the program another copy than the library.
const modules = join(folder, "node_modules")
cpSync(join(modules, "effect"), join(modules, "a2c-smcp/node_modules/effect"), { recursive: true })
used()
using older = makeFolder()
writeFileSync(join(older.folder, "package.json"), JSON.stringify({ dependencies: { effect: "4.0.6" } }))
const { stderr } = spawnSync("npm", ["install", "--package-lock-only", library], {
  cwd: older.folder,
  encoding: "utf8"
})
if (!/peer effect@"\^4\.1\.0" from a2c-smcp/.test(stderr)) throw new Error(`npm accepts effect 4.0.6:\n${stderr}`)
process.stdout.write("a2c-smcp works in an empty project\n")
await checkCommandPackage(command)
