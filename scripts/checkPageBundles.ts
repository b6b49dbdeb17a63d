import { gzipSync } from "node:zlib"
import { build } from "esbuild"

/** The scripts of pages with one member, and the most bytes that they may have, gzipped. */
const pages = {
  Agent: ['import { connectAgent } from "a2c-smcp/agent"; globalThis.connectAgent = connectAgent', 120_000],
  Computer: ['import { joinAsComputer } from "a2c-smcp/computer"; globalThis.joinAsComputer = joinAsComputer', 158_500]
} as const

/** Bundles pages that use the package in this folder. They must be small, and work where a policy forbids `eval`. */
export const checkPageBundles = async (folder: string): Promise<void> => {
  for (const [name, [contents, maxGzippedBytes]] of Object.entries(pages)) {
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: folder },
      bundle: true,
      minify: true,
      format: "esm",
      platform: "browser",
      write: false
    })
    const text = outputFiles[0]?.text ?? ""
    const evaluation = /\beval\(|\bnew Function\b/.exec(text)?.[0]
    if (evaluation !== undefined) throw new Error(`the page with one ${name} has ${evaluation}`)
    const bytes = gzipSync(text, { level: 9 }).length
    if (bytes > maxGzippedBytes) {
      throw new Error(`the page with one ${name} has ${bytes} bytes gzipped; at most ${maxGzippedBytes} are allowed`)
    }
    process.stdout.write(`a page with one ${name} has ${bytes} bytes gzipped\n`)
  }
}
