import { randomBytes } from "node:crypto"
import { realpathSync } from "node:fs"
import { createRequire, registerHooks, type ResolveFnOutput, type ResolveHookContext } from "node:module"
import { relative } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { Effect, Predicate, type Scope } from "effect"
import { PackFailure, type PackSource } from "../../application/ports/PackLoader.ts"
import { importModule } from "./importing.ts"
import { type Enter, settle } from "./settle.ts"
import { wordsOf } from "./thrown.ts"

type Next = (specifier: string, context?: Partial<ResolveHookContext>) => ResolveFnOutput

/** A pack that has been loaded, as far as its imports are concerned. */
interface Load {
  /** Address of its folder, with a slash at the end. */
  readonly folder: string
  /** What its own files carry at the end of their addresses, so that each load has modules of its own. */
  readonly mark: string
}

/** Imports the modules of packs. */
export interface Modules {
  /** Loads a pack anew, with every file of its own; packages that it depends on stay what they are. */
  readonly load: (source: PackSource, enter: Enter) => Effect.Effect<object, PackFailure>
}

/** Packages that packs may use without having them. */
const lent = /^(effect|zod)(\/|$)/

/** The entry for authors of packs, next to the rest of us: of the sources, or of what they were compiled to. */
const toolsUrl = new URL(`../../tools${import.meta.url.slice(-3)}`, import.meta.url).href

const require = createRequire(import.meta.url)

const isInstalled = (url: string): boolean => url.includes("/node_modules/")

const codeOf = (error: unknown): unknown => (Predicate.hasProperty(error, "code") ? error.code : undefined)

/** Resolves an import of a pack; what it has not got itself it may have from us. */
const resolveFor = (specifier: string, context: ResolveHookContext, next: Next): ResolveFnOutput => {
  try {
    return next(specifier, context)
  } catch (error) {
    if (!lent.test(specifier) || codeOf(error) === undefined) throw error
    return next(specifier, { ...context, parentURL: import.meta.url })
  }
}

/** Notices of Node about TypeScript that has to be compiled. */
const needsCompiler = new Set(["ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX", "ERR_INVALID_TYPESCRIPT_SYNTAX"])

/** Where something is that needs a compiler, which Node says only above its stack. */
const placeIn = (error: unknown, folder: string): string => {
  const stack = Predicate.hasProperty(error, "stack") ? String(error.stack) : ""
  const [, file, line] =
    /^\s*((?:file:\/\/|\/)[^\n]*?)(?:\?load=[\w-]+)?:(\d+)$/m.exec(stack.split("\n")[0] ?? "") ?? []
  if (file === undefined) return ""
  return `${relative(folder, file.startsWith("file:") ? fileURLToPath(file) : file)}:${line}: `
}

/** Why a module cannot be loaded, in words of who writes packs. */
const explain = (error: unknown, { file, folder }: Pick<PackSource, "file" | "folder">): string => {
  const words = wordsOf(error).replaceAll(/\?load=[\w-]+/g, "")
  const code = codeOf(error)
  if (typeof code === "string" && needsCompiler.has(code)) {
    const hint =
      "Node only takes types away, so enums, namespaces, decorators and parameter properties need a compiler"
    return `${placeIn(error, folder)}${words.trim()}. ${hint}: write it without them, or compile it to JavaScript`
  }
  if (code === "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING") {
    return "it lies below a folder node_modules, where Node runs no TypeScript: move it, or compile it to JavaScript"
  }
  if (code === "ERR_MODULE_NOT_FOUND" && words.startsWith("Cannot find package")) {
    return `${words}. Name it under 'packages' in config.yaml`
  }
  if (error instanceof SyntaxError) {
    return `${placeIn(error, folder) || `in ${relative(folder, file)}, or what it imports: `}${words}`
  }
  return words
}

/** Modules of CommonJS are remembered by their file, whatever their address. */
const forget = (folder: string): void => {
  const remembered = require.cache
  for (const file of Object.keys(remembered)) {
    const url = pathToFileURL(file).href
    if (url.startsWith(folder) && !isInstalled(url.slice(folder.length))) delete remembered[file]
  }
}

/**
 * Makes this thread able to load packs, for as long as the scope. Nothing unloads a module, so each load costs the
 * memory of what it loads, for good.
 */
export const make: Effect.Effect<Modules, never, Scope.Scope> = Effect.gen(function* () {
  const loads = new Map<string, Load>()
  /** Others in this thread load packs, too, and what they have loaded is not ours. */
  const own = randomBytes(6).toString("hex")

  /** The pack that imports something: one of its modules, or a module of CommonJS in its folder. */
  const importer = (url: string): Load | undefined => {
    const marked = loads.get(/\?load=[\w-]+$/.exec(url)?.[0] ?? "")
    if (marked !== undefined) return marked
    const latest = [...loads.values()].findLast(({ folder }) => url.startsWith(folder))
    return latest === undefined || isInstalled(url.slice(latest.folder.length)) ? undefined : latest
  }

  const resolve = (specifier: string, context: ResolveHookContext, next: Next): ResolveFnOutput => {
    const load = context.parentURL === undefined ? undefined : importer(context.parentURL)
    if (load === undefined) return next(specifier, context)
    if (specifier === "a2c-smcp/tools") return next(toolsUrl, context)
    const resolved = resolveFor(specifier, context, next)
    const isOwn = resolved.url.startsWith(load.folder) && !isInstalled(resolved.url.slice(load.folder.length))
    const isMarked = resolved.url.includes("?") || context.conditions.includes("require")
    return isOwn && !isMarked ? { ...resolved, url: resolved.url + load.mark } : resolved
  }

  yield* Effect.acquireRelease(
    Effect.sync(() => registerHooks({ resolve })),
    (hooks) => Effect.sync(() => hooks.deregister())
  )

  return {
    load: ({ file, folder }, enter) =>
      Effect.suspend(() => {
        const mark = `?load=${own}-${loads.size + 1}`
        return settle(enter, () => {
          const home = pathToFileURL(`${realpathSync(folder)}/`).href
          loads.set(mark, { folder: home, mark })
          forget(home)
          return importModule(pathToFileURL(realpathSync(file)).href + mark)
        })
      }).pipe(
        Effect.mapError(
          ({ value }) =>
            new PackFailure({
              kind: "unusable",
              message: `it cannot be loaded: ${explain(value, { file, folder })}`
            })
        ),
        Effect.filterOrFail(
          (module): module is object => typeof module === "object" && module !== null,
          () => new PackFailure({ kind: "unusable", message: "it is no module" })
        )
      )
  }
})
