/** Writes the version of package.json into the other files that name it. */
import { readFileSync, writeFileSync } from "node:fs"
import { packageVersion, versionedFiles } from "./versionedFiles.ts"

for (const [file, version] of Object.entries(versionedFiles)) {
  const text = readFileSync(file, "utf8")
  writeFileSync(
    file,
    text.replaceAll(version, (_, before: string) => `${before}${packageVersion}`)
  )
}
