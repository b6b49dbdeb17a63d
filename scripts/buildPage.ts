/** Bundles the office page into `dist/page`: one HTML, one script and one style sheet. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { gzipSync } from "node:zlib"
import { build } from "esbuild"

const source = join(import.meta.dirname, "../src/main/page")

/** The path at which a Server serves the files. */
const servedAt = "/office"

/** The gzipped size of all files together, in bytes. */
export const maxGzippedBytes = 80 * 1024

export interface BuiltPage {
  /** Contents by file name. */
  readonly files: ReadonlyMap<string, string>
  /** Source files that contribute code, relative to the working directory. */
  readonly inputs: ReadonlyArray<string>
  readonly gzippedBytes: number
}

/** Bundles the page in memory. */
export const bundlePage = async (): Promise<BuiltPage> => {
  const { metafile, outputFiles } = await build({
    entryPoints: [
      { in: join(source, "main.tsx"), out: "page" },
      { in: join(source, "styles/page.css"), out: "page" }
    ],
    entryNames: "[name].[hash]",
    outdir: "dist/page",
    bundle: true,
    minify: true,
    platform: "browser",
    format: "esm",
    target: ["chrome123", "firefox120", "safari17.5"],
    tsconfig: join(import.meta.dirname, "../tsconfig.page.json"),
    legalComments: "none",
    charset: "utf8",
    write: false,
    metafile: true
  })
  const files = new Map(outputFiles.map(({ path, text }) => [basename(path), text]))
  const nameOf = (extension: string): string =>
    `${servedAt}/${[...files.keys()].find((name) => name.endsWith(extension)) ?? ""}`
  const html = readFileSync(join(source, "index.html"), "utf8")
    .replace("{{css}}", nameOf(".css"))
    .replace("{{js}}", nameOf(".js"))
  files.set("index.html", html)
  const inputs = Object.values(metafile.outputs).flatMap((output) =>
    Object.entries(output.inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : []))
  )
  const gzippedBytes = [...files.values()].reduce((sum, text) => sum + gzipSync(text, { level: 9 }).length, 0)
  return { files, inputs, gzippedBytes }
}

/** Bundles the page into a folder. Throws when it is too large. */
export const buildPage = async (folder: string): Promise<void> => {
  const { files, gzippedBytes } = await bundlePage()
  if (gzippedBytes > maxGzippedBytes) {
    throw new Error(`The office page has ${gzippedBytes} bytes gzipped; at most ${maxGzippedBytes} are allowed`)
  }
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of files) writeFileSync(join(folder, name), text)
}

if (import.meta.main) await buildPage("dist/page")
