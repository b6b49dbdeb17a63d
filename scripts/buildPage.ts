/** Bundles the office page into `dist/page`: one HTML, one script and one style sheet, and the HTML that frames apps. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { gzipSync } from "node:zlib"
import { build, type BuildOptions, type Metafile } from "esbuild"

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

const bundleOptions = {
  bundle: true,
  minify: true,
  platform: "browser",
  target: ["chrome123", "firefox120", "safari17.5"],
  tsconfig: join(import.meta.dirname, "../tsconfig.page.json"),
  legalComments: "none",
  charset: "utf8",
  write: false,
  metafile: true
} as const satisfies BuildOptions

/** Source files of bundles that contribute code. */
const inputsOf = ({ outputs }: Metafile): ReadonlyArray<string> =>
  Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : []))
  )

/** Bundles the page that frames apps: its policy permits scripts inside it only. */
const bundleSandbox = async () => {
  const { metafile, outputFiles } = await build({
    ...bundleOptions,
    entryPoints: [join(source, "sandbox/sandbox.ts")],
    format: "iife"
  })
  const html = readFileSync(join(source, "sandbox/sandbox.html"), "utf8")
  return { html: html.replace("{{js}}", () => outputFiles[0]?.text ?? ""), inputs: inputsOf(metafile) }
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
    ...bundleOptions,
    format: "esm"
  })
  const files = new Map(outputFiles.map(({ path, text }) => [basename(path), text]))
  const nameOf = (extension: string): string =>
    `${servedAt}/${[...files.keys()].find((name) => name.endsWith(extension)) ?? ""}`
  const html = readFileSync(join(source, "index.html"), "utf8")
    .replace("{{css}}", nameOf(".css"))
    .replace("{{js}}", nameOf(".js"))
  files.set("index.html", html)
  const sandbox = await bundleSandbox()
  files.set("sandbox.html", sandbox.html)
  const inputs = [...inputsOf(metafile), ...sandbox.inputs]
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
