/**
 * Builds `release/a2c-smcp.mcpb`: the office as an extension that Claude Desktop installs with a form for its settings. It
 * holds the package of the command. Needs `npm run build` before.
 */
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { commandFolder } from "./command/buildCommand.ts"

const folder = "node_modules/.cache/mcpb"
const entry = "dist/main/cli/a2c.cjs"
if (!existsSync(commandFolder)) throw new Error(`${commandFolder} is missing: run \`npm run build\``)

const { description, engines, homepage, license, name, repository, version } = JSON.parse(
  readFileSync("package.json", "utf8")
) as {
  readonly [Field in "description" | "homepage" | "license" | "name" | "version"]: string
} & { readonly engines: { readonly node: string }; readonly repository: object }

const setting = (title: string, about: string, more: { readonly [field: string]: unknown } = {}) => ({
  type: "string",
  title,
  description: about,
  ...more
})

const manifest = {
  manifest_version: "0.3",
  name,
  display_name: "A2C-SMCP office",
  version,
  description,
  author: { name: "The authors of a2c-smcp" },
  homepage,
  license,
  repository,
  server: {
    type: "node",
    entry_point: entry,
    mcp_config: {
      command: "node",
      // A dependency uses it; Node hides the warning for installed packages only.
      args: ["--disable-warning=DEP0169", `\${__dirname}/${entry}`, "agent", "mcp"],
      env: {
        A2C_SERVER: "${user_config.server}",
        A2C_OFFICE: "${user_config.office}",
        A2C_NAME: "${user_config.name}",
        A2C_TOKEN: "${user_config.token}"
      }
    }
  },
  tools_generated: true,
  user_config: {
    server: setting("Server", "URL of the Server", { default: "http://127.0.0.1:7070", required: true }),
    office: setting("Office", "Name of the office", { required: true }),
    name: setting("Name", "Name of this Agent in the office", { default: "claude-desktop" }),
    token: setting("Token", "Key or token for the Server, if it needs one", { sensitive: true, default: "" })
  },
  compatibility: { runtimes: { node: engines.node } }
}

rmSync(folder, { recursive: true, force: true })
cpSync(commandFolder, folder, { recursive: true })
writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest, null, 2))
mkdirSync("release", { recursive: true })
execFileSync("mcpb", ["pack", folder, `release/${name}.mcpb`], { stdio: ["ignore", "ignore", "inherit"] })
