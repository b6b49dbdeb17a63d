import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, statSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "../..")
const sources = join(root, "src")

const command = join(root, "dist/command/dist/main/cli/a2c.cjs")

const changedAt = (file: string): number => statSync(file).mtimeMs

const isOutdated = (): boolean => {
  const built = changedAt(command)
  return readdirSync(sources, { recursive: true, withFileTypes: true }).some(
    (entry) => entry.isFile() && changedAt(join(entry.parentPath, entry.name)) > built
  )
}

/** Returns the file of the shipped `a2c` command. Builds the package when `dist` is missing; warns when it is outdated. */
export const builtCommand = (): string => {
  if (!existsSync(command)) {
    process.stderr.write("dist has no command: building the package.\n")
    execFileSync("npm", ["run", "build"], { cwd: root, stdio: ["ignore", 2, 2] })
  } else if (isOutdated()) {
    process.stderr.write("dist is older than src: run `npm run build` to measure the current command.\n")
  }
  return command
}
