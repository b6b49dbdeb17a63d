/**
 * Runs the static checks, as many at once as there are processors, and prints the output of those that fail.
 */
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { availableParallelism } from "node:os"

/** The scripts of package.json, the longest first. */
const names = ["types", "lint", "unused", "format:check"]

const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly scripts: Record<string, string> }

/** Runs a script and returns true if it succeeds. */
const run = (name: string): Promise<boolean> =>
  new Promise((resolve) => {
    const begun = performance.now()
    let output = ""
    const child = spawn(scripts[name] ?? "", { shell: true, stdio: ["ignore", "pipe", "pipe"] })
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => (output += text))
    }
    child.on("close", (code) => {
      const seconds = ((performance.now() - begun) / 1000).toFixed(1)
      process.stdout.write(code === 0 ? `${name}: passed in ${seconds} s\n` : `${output}\n${name}: failed\n`)
      resolve(code === 0)
    })
  })

const waiting = [...names]
let passed = true
const work = async (): Promise<void> => {
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) passed = (await run(name)) && passed
}
await Promise.all(Array.from({ length: availableParallelism() }, work))
process.exitCode = passed ? 0 : 1
