import { randomBytes } from "node:crypto"
import { realpathSync } from "node:fs"
// Bun and old versions of Node have no registerHooks, and could not load this file with a named import of it.
import nodeModule, { createRequire, type ResolveFnOutput, type ResolveHookContext } from "node:module"
import { relative } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { Effect, Predicate } from "effect"
import { PackError, type PackSource } from "../../../application/ports/packs/PackLoader.ts"
import { systemErrorCode } from "../../../domain/errorMessage.ts"
import { importModule } from "./importModule.ts"
import { type EnterPackCode, runPackCode, thrownMessage } from "../../tools/runPackCode.ts"

const { registerHooks } = nodeModule as Partial<typeof nodeModule>

type NextResolve = (specifier: string, context?: Partial<ResolveHookContext>) => ResolveFnOutput

/** Packages that packs can import without installing them. */
const sharedPackages = /^(effect|zod)(\/|$)/

/** Entry point for pack authors: TypeScript in the sources, JavaScript in the build. */
const toolsEntryUrl = new URL(`../../../main/entrypoints/tools${import.meta.url.slice(-3)}`, import.meta.url).href

const require = createRequire(import.meta.url)

/** True for a module in a folder, other than those installed below it. The URL of the folder ends with a slash. */
const isOwnModule = (url: string, folder: string): boolean =>
  url.startsWith(folder) && !url.slice(folder.length).includes("/node_modules/")

/** Resolves a package of this host by the `imports` of its package.json; the command has the packages in its bundle. */
const resolveOfHost = (specifier: string, context: ResolveHookContext, next: NextResolve) => {
  try {
    return next(`#${specifier}`, { ...context, parentURL: import.meta.url })
  } catch {
    return undefined
  }
}

const resolveShared = (specifier: string, context: ResolveHookContext, next: NextResolve): ResolveFnOutput => {
  // Schemas and effects of packs must belong to the Effect that reads and runs them.
  const preferred = specifier.startsWith("effect") ? resolveOfHost(specifier, context, next) : undefined
  if (preferred !== undefined) return preferred
  try {
    return next(specifier, context)
  } catch (error) {
    const shared = resolveOfHost(specifier, context, next)
    if (shared === undefined) throw error
    return shared
  }
}

const compilerErrorCodes = new Set(["ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX", "ERR_INVALID_TYPESCRIPT_SYNTAX"])

/** Node states the location of a syntax error only in the stack. */
const sourceLocation = (error: unknown, folder: string): string => {
  const stack = Predicate.hasProperty(error, "stack") ? String(error.stack) : ""
  const [, file, line] =
    /^\s*((?:file:\/\/|\/)[^\n]*?)(?:\?load=[\w-]+)?:(\d+)$/m.exec(stack.split("\n")[0] ?? "") ?? []
  if (file === undefined) return ""
  return `${relative(folder, file.startsWith("file:") ? fileURLToPath(file) : file)}:${line}: `
}

const explainLoadError = (error: unknown, { file, folder }: Pick<PackSource, "file" | "folder">): string => {
  const message = thrownMessage(error).replaceAll(/\?load=[\w-]+/g, "")
  const code = systemErrorCode(error)
  if (code !== undefined && compilerErrorCodes.has(code)) {
    const hint = "Node only strips types, so enums, namespaces, decorators and parameter properties need a compiler"
    return `${sourceLocation(error, folder)}${message.trim()}. ${hint}: write it without them, or compile it to JavaScript`
  }
  if (code === "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING") {
    return "Node runs no TypeScript below node_modules: move the pack, or compile it to JavaScript"
  }
  if (code === "ERR_MODULE_NOT_FOUND" && message.startsWith("Cannot find package")) {
    return `${message}. Name it under 'packages' in config.yaml`
  }
  if (error instanceof SyntaxError && /token 'export'|import statement outside/.test(message)) {
    const remedy = `name the file .mts or .mjs, or set "type": "module" in the nearest package.json`
    return `${sourceLocation(error, folder)}${message}. Node takes the file as CommonJS: ${remedy}`
  }
  if (error instanceof SyntaxError) {
    return `${sourceLocation(error, folder) || `in ${relative(folder, file)}, or what it imports: `}${message}`
  }
  return message
}

const withoutHooks = "this runtime has no module hooks: run packs in Node or Deno"

/** Node caches CommonJS modules by file, not by URL. */
const clearRequireCache = (folder: string): void => {
  for (const file of Object.keys(require.cache)) {
    if (isOwnModule(pathToFileURL(file).href, folder)) delete require.cache[file]
  }
}

/**
 * Registers the module hooks of this thread until the scope closes. Node never unloads a module, so every load costs
 * its memory permanently.
 */
export const make = Effect.gen(function* () {
  /** URLs of folders by the query string of the modules in them: every load gets fresh modules. */
  const loads = new Map<string, string>()
  /** Distinguishes the modules of several loaders in one thread. */
  const loaderId = randomBytes(6).toString("hex")

  /** Finds the pack of an importing module: by its query string, or by its folder for CommonJS. */
  const findImporter = (url: string) =>
    [...loads].find(([urlSuffix]) => url.endsWith(urlSuffix)) ??
    [...loads].findLast(([, folder]) => isOwnModule(url, folder))

  const resolve = (specifier: string, context: ResolveHookContext, next: NextResolve): ResolveFnOutput => {
    const importer = context.parentURL === undefined ? undefined : findImporter(context.parentURL)
    if (importer === undefined) return next(specifier, context)
    const [urlSuffix, folder] = importer
    if (specifier === "a2c-smcp/tools") return next(toolsEntryUrl, context)
    const resolved = sharedPackages.test(specifier) ? resolveShared(specifier, context, next) : next(specifier, context)
    const isMarked = resolved.url.includes("?") || context.conditions.includes("require")
    return isOwnModule(resolved.url, folder) && !isMarked ? { ...resolved, url: resolved.url + urlSuffix } : resolved
  }

  yield* Effect.acquireRelease(
    Effect.sync(() => registerHooks?.({ resolve })),
    (hooks) => Effect.sync(() => hooks?.deregister())
  )

  return {
    /** Loads a pack with fresh instances of the modules in its folder; dependencies are shared. */
    load: ({ file, folder }: PackSource, enter: EnterPackCode): Effect.Effect<object, PackError> =>
      Effect.suspend(() => {
        if (registerHooks === undefined) return Effect.fail({ value: new Error(withoutHooks) })
        const urlSuffix = `?load=${loaderId}-${loads.size + 1}`
        return runPackCode(enter, () => {
          const folderUrl = pathToFileURL(`${realpathSync(folder)}/`).href
          loads.set(urlSuffix, folderUrl)
          clearRequireCache(folderUrl)
          return importModule(pathToFileURL(realpathSync(file)).href + urlSuffix)
        })
      }).pipe(
        Effect.mapError(({ value }) => `loading failed: ${explainLoadError(value, { file, folder })}`),
        Effect.filterOrFail(Predicate.isObjectOrArray, () => "it is not a module"),
        Effect.mapError((message) => new PackError({ reason: "unusable", message }))
      )
  }
})
