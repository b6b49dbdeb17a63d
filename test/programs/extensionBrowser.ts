import { installWithApt } from "./installWithApt.ts"
import type { Program } from "./Program.ts"

/** A Chromium that loads extensions, which the one of the browser tests does not. */
export const extensionBrowser: Program = {
  name: "Chromium with extensions",
  variable: "EXTENSION_CHROMIUM",
  commands: ["chromium", "chromium-browser"],
  advice: "install chromium, or set EXTENSION_CHROMIUM to its path",
  installation: "Chromium with extensions is missing: apt-get downloads chromium into node_modules/.cache",
  install: (folder) => installWithApt("chromium", "usr/lib/chromium/chromium", folder)
}
