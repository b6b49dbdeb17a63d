import { randomBytes } from "node:crypto"
import { realpathSync } from "node:fs"
import { createRequire, registerHooks, type ResolveFnOutput, type ResolveHookContext } from "node:module"
import { relative } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { Effect, Predicate, type Scope } from "effect"
import { PackError, type PackSource } from "../../../application/ports/packs/PackLoader.ts"
import { importModule } from "./importModule.ts"
import { type EnterPackCode, runPackCode } from "../execution/runPackCode.ts"
import { thrownMessage } from "../execution/thrown.ts"

type NextResolve = (specifier: string, context?: Partial<ResolveHookContext>) => ResolveFnOutput

/** A pack that has been loaded, as far as its imports are concerned. */
interface ModuleLoad {
  /** Address of its folder, with a slash at the end. */
  readonly folder: string
  /** What its own files carry at the end of their addresses, so that each load has modules of its own. */
  readonly urlSuffix: string
}

/** Imports the modules of packs. */
export interface ModuleLoader {
  /** Loads a pack anew, with every file of its own; packages that it depends on stay what they are. */
  readonly load: (source: PackSource, enter: EnterPackCode) => Effect.Effect<object, PackError>
}

/** Packages that packs may use without having them. */
const sharedPackages = /^(effect|zod)(\/|$)/

/** The entry for authors of packs, next to the rest of us: of the sources, or of what they were compiled to. */
const toolsEntryUrl = new URL(`../../../main/entrypoints/tools${import.meta.url.slice(-3)}`, import.meta.url)
  .href

const require = createRequire(import.meta.url)

const isInNodeModules = (url: string): boolean => url.includes("/node_modules/")

const errorCodeOf = (error: unknown): unknown =>
  Predicate.hasProperty(error, "code") ? error.code : undefined

/** Resolves an import of a pack; what it has not got itself it may have from us. */
const resolveWithFallback = (
  specifier: string,
  context: ResolveHookContext,
  next: NextResolve
): ResolveFnOutput => {
  try {
    return next(specifier, context)
  } catch (error) {
    if (!sharedPackages.test(specifier) || errorCodeOf(error) === undefined) throw error
    return next(specifier, { ...context, parentURL: import.meta.url })
  }
}

/** Notices of Node about TypeScript that has to be compiled. */
const compilerErrorCodes = new Set(["ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX", "ERR_INVALID_TYPESCRIPT_SYNTAX"])

/** Where something is that needs a compiler, which Node says only above its stack. */
const sourceLocation = (error: unknown, folder: string): string => {
  const stack = Predicate.hasProperty(error, "stack") ? String(error.stack) : ""
  const [, file, line] =
    /^\s*((?:file:\/\/|\/)[^\n]*?)(?:\?load=[\w-]+)?:(\d+)$/m.exec(stack.split("\n")[0] ?? "") ?? []
  if (file === undefined) return ""
  return `${relative(folder, file.startsWith("file:") ? fileURLToPath(file) : file)}:${line}: `
}

/** Why a module cannot be loaded, in words of who writes packs. */
const explainLoadError = (error: unknown, { file, folder }: Pick<PackSource, "file" | "folder">): string => {
  const message = thrownMessage(error).replaceAll(/\?load=[\w-]+/g, "")
  const code = errorCodeOf(error)
  if (typeof code === "string" && compilerErrorCodes.has(code)) {
    const hint =
      "Node only strips types, so enums, namespaces, decorators and parameter properties need a compiler"
    return `${sourceLocation(error, folder)}${message.trim()}. ${hint}: write it without them, or compile it to JavaScript`
  }
  if (code === "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING") {
    return "Node runs no TypeScript below node_modules: move the pack, or compile it to JavaScript"
  }
  if (code === "ERR_MODULE_NOT_FOUND" && message.startsWith("Cannot find package")) {
    return `${message}. Name it under 'packages' in config.yaml`
  }
  if (error instanceof SyntaxError) {
    return `${sourceLocation(error, folder) || `in ${relative(folder, file)}, or what it imports: `}${message}`
  }
  return message
}

/** Modules of CommonJS are remembered by their file, whatever their address. */
const clearRequireCache = (folder: string): void => {
  const remembered = require.cache
  for (const file of Object.keys(remembered)) {
    const url = pathToFileURL(file).href
    if (url.startsWith(folder) && !isInNodeModules(url.slice(folder.length))) delete remembered[file]
  }
}

/**
 * Makes this thread able to load packs, for as long as the scope. Nothing unloads a module, so each load costs the
 * memory of what it loads, for good.
 */
export const make: Effect.Effect<ModuleLoader, never, Scope.Scope> = Effect.gen(function* () {
  const loads = new Map<string, ModuleLoad>()
  /** Others in this thread load packs, too, and what they have loaded is not ours. */
  const loaderId = randomBytes(6).toString("hex")

  /** The pack that imports something: one of its modules, or a module of CommonJS in its folder. */
  const findImporter = (url: string): ModuleLoad | undefined => {
    const marked = loads.get(/\?load=[\w-]+$/.exec(url)?.[0] ?? "")
    if (marked !== undefined) return marked
    const latest = [...loads.values()].findLast(({ folder }) => url.startsWith(folder))
    return latest === undefined || isInNodeModules(url.slice(latest.folder.length)) ? undefined : latest
  }

  const resolve = (specifier: string, context: ResolveHookContext, next: NextResolve): ResolveFnOutput => {
    const load = context.parentURL === undefined ? undefined : findImporter(context.parentURL)
    if (load === undefined) return next(specifier, context)
    if (specifier === "a2c-smcp/tools") return next(toolsEntryUrl, context)
    const resolved = resolveWithFallback(specifier, context, next)
    const isOwn =
      resolved.url.startsWith(load.folder) && !isInNodeModules(resolved.url.slice(load.folder.length))
    const isMarked = resolved.url.includes("?") || context.conditions.includes("require")
    return isOwn && !isMarked ? { ...resolved, url: resolved.url + load.urlSuffix } : resolved
  }

  yield* Effect.acquireRelease(
    Effect.sync(() => registerHooks({ resolve })),
    (hooks) => Effect.sync(() => hooks.deregister())
  )

  return {
    load: ({ file, folder }, enter) =>
      Effect.suspend(() => {
        const urlSuffix = `?load=${loaderId}-${loads.size + 1}`
        return runPackCode(enter, () => {
          const folderUrl = pathToFileURL(`${realpathSync(folder)}/`).href
          loads.set(urlSuffix, { folder: folderUrl, urlSuffix })
          clearRequireCache(folderUrl)
          return importModule(pathToFileURL(realpathSync(file)).href + urlSuffix)
        })
      }).pipe(
        Effect.mapError(
          ({ value }) =>
            new PackError({
              reason: "unusable",
              message: `loading failed: ${explainLoadError(value, { file, folder })}`
            })
        ),
        Effect.filterOrFail(
          (module): module is object => typeof module === "object" && module !== null,
          () => new PackError({ reason: "unusable", message: "it is not a module" })
        )
      )
  }
})
