import { readFileSync } from "node:fs"

/** The version of this package. */
export const packageVersion = (JSON.parse(readFileSync("package.json", "utf8")) as { readonly version: string }).version

/** The files that name the version of the package; what stands before it is the first group. */
export const versionedFiles: { readonly [file: string]: RegExp } = {
  "server.json": /("version": ")\d+\.\d+\.\d+[^"]*/g,
  "deploy/compose.yaml": /(image: a2c-smcp(?:-computer)?:)\d\S*/g,
  "deploy/compose/makeSecrets": /(a2c-smcp:)\d[\d.]*/g,
  "deploy/helm/a2c/Chart.yaml": /(version: |appVersion: )\d\S*/gi,
  "docs/deployment.md": /(a2c-smcp:)\d[\d.]*/g
}
