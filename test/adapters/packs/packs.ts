import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Effect } from "effect"
import { PackLoader, type PackCall, type PackSource } from "../../../src/application/ports/packs/PackLoader.ts"
import type { JsonObject } from "../../../src/domain/json.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"

export const write = (folder: string, files: { readonly [name: string]: string }) =>
  Effect.sync(() => {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), text)
    }
  })

/** Source of a pack with class `T`. */
export const sourceOf = (folder: string, file: string, more: Partial<PackSource> = {}): PackSource => ({
  name: "pack",
  language: "node",
  folder,
  file: join(folder, file),
  className: "T",
  version: "1",
  config: {},
  isolated: false,
  memory: 128,
  ...more
})

/** Source of a pack among the fixtures. */
export const fixture = (name: string, file: string, className: string, more: Partial<PackSource> = {}) => {
  const folder = join(import.meta.dirname, "..", "..", "fixtures", "packs", name)
  return sourceOf(folder, file, { name, className, ...more })
}

export const load = (source: PackSource) => PackLoader.use((loader) => loader.load(source))

/** Loads a pack from the text of its file. */
export const loadText = Effect.fnUntraced(function* (
  text: string,
  more: Partial<PackSource> = {},
  file = "pack_tool.ts"
) {
  const folder = yield* temporaryFolder
  yield* write(folder, { [file]: text })
  return yield* load(sourceOf(folder, file, more))
})

/** Source of a class with default members, which can be overridden. */
export const packSource = ({
  constructing = "",
  routes = "() { return { endpoint: '/tools/pack', params: { type: 'object' } } }",
  tools = "() { return [{ name: 'pack' }] }",
  call = "() { return 'called' }"
}: { readonly [part in "constructing" | "routes" | "tools" | "call"]?: string } = {}) =>
  `export class T {
    constructor() { ${constructing} }
    getRouteConfig${routes}
    listTools${tools}
    callTool${call}
  }`

export const callOf = (tool: string, params: JsonObject, more: Partial<PackCall> = {}): PackCall => ({
  tool,
  params,
  form: false,
  files: {},
  ...more
})
