import { createHash } from "node:crypto"
import { mkdirSync, realpathSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const manifest = { manifest_version: 3, name: "Page with a Computer", version: "1.0" }

/** Letters of the id of an extension, one for each hexadecimal digit. */
const letters = "abcdefghijklmnop"

/** Writes an unpacked extension for Chromium with a page that runs a script, and no service worker. */
export const writeExtension = (folder: string, script: Uint8Array) => {
  mkdirSync(folder)
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest))
  writeFileSync(join(folder, "page.html"), '<!doctype html><script type="module" src="page.js"></script>')
  writeFileSync(join(folder, "page.js"), script)
  const path = realpathSync(folder)
  // Without a key in its manifest, an extension has an id of its path.
  const digest = createHash("sha256").update(path).digest("hex").slice(0, 32)
  const id = digest.replaceAll(/./g, (digit) => letters[Number.parseInt(digit, 16)] ?? "")
  const flags = [`--load-extension=${path}`, `--disable-extensions-except=${path}`]
  return { flags, origin: `chrome-extension://${id}`, page: "/page.html" }
}
