import { execFile } from "node:child_process"
import { writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { promisify } from "node:util"
import type { Program } from "./Program.ts"
import { writeCommand } from "./sharedLibraries.ts"

/** Unpacks the browser, its fonts and, as on AWS Lambda, the libraries that small systems lack. */
const script = "await (await import(process.argv[1])).default.executablePath()"

/** Its own names folders of AWS Lambda; without a font the browser ends. */
const fontConfiguration = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`

const unpack = async (folder: string): Promise<void> => {
  // The package has no other build.
  if (process.platform !== "linux" || process.arch !== "x64") throw new Error("no build for this system")
  const env = { ...process.env, TMPDIR: folder, AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x" }
  const entry = createRequire(import.meta.url).resolve("@sparticuz/chromium")
  const args = ["--input-type=module", "-e", script, pathToFileURL(entry).href]
  await promisify(execFile)(process.execPath, args, { env, timeout: 120_000 })
  writeFileSync(join(folder, "fonts", "fonts.conf"), fontConfiguration)
  writeCommand(folder, "chromium", { FONTCONFIG_PATH: "$here/fonts", XDG_CACHE_HOME: "$here/cache" })
}

/** The browser of the browser tests. */
export const chromiumBrowser: Program = {
  name: "Chromium",
  variable: "CHROMIUM",
  commands: ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"],
  advice: "install chromium, or set CHROMIUM to its path",
  installation: "Chromium is missing: unpacking the one of @sparticuz/chromium into node_modules/.cache",
  install: unpack
}
