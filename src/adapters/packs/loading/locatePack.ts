import { Predicate, Result } from "effect"

type Method = (...args: ReadonlyArray<unknown>) => unknown

export type PackMethods = Result.Result.Success<ReturnType<typeof bindMethods>>

/** An exported class or instance; `getInstance` runs the constructor of a class. */
export interface PackExport {
  readonly name: string
  readonly getInstance: () => unknown
}

const requiredMethods = [
  ["getRouteConfig", "get_route_config"],
  ["listTools", "list_tools"],
  ["callTool", "call_tool"]
] as const

const isMethod = (value: unknown): value is Method => typeof value === "function"

const findMethod = (instance: unknown, names: ReadonlyArray<string>): Method | undefined => {
  for (const name of names) {
    const method = Predicate.hasProperty(instance, name) ? instance[name] : undefined
    if (isMethod(method)) return (...args) => Reflect.apply(method, instance, args)
  }
  return undefined
}

/** Arrow functions and methods have no prototype. */
const isClass = (value: unknown): value is new () => unknown =>
  typeof value === "function" && Predicate.hasProperty(value, "prototype")

const isInstance = (value: unknown): boolean =>
  typeof value === "object" && requiredMethods.some((names) => findMethod(value, names) !== undefined)

const toPackExport = (value: unknown, name: string): PackExport | undefined => {
  if (isClass(value)) return { name, getInstance: () => new value() }
  return isInstance(value) ? { name, getInstance: () => value } : undefined
}

const formatNames = (names: ReadonlyArray<string>): string =>
  names.length === 0 ? "nothing" : names.map((name) => `'${name}'`).join(", ")

/**
 * Finds the pack among the exports of a module: by the name of its class, or as the default export. CommonJS exports
 * are members of the default export.
 */
export const locatePack = (module: object, className: string): Result.Result<PackExport, string> => {
  const fallback: unknown = Predicate.hasProperty(module, "default") ? module.default : undefined
  for (const holder of [module, fallback]) {
    const found = Predicate.hasProperty(holder, className) ? toPackExport(holder[className], className) : undefined
    if (found !== undefined) return Result.succeed(found)
  }
  const found = toPackExport(fallback, className)
  if (found !== undefined) return Result.succeed(found)
  const names = Object.keys(module).filter((name) => name !== "module.exports" && name !== "default")
  return Result.fail(
    `class '${className}' not found: the module exports ${formatNames(names)}. Export the class under this name or as the default`
  )
}

/** Binds the methods of an instance under either of their names, or names the missing ones. */
export const bindMethods = (instance: unknown, name: string) => {
  const [getRouteConfig, listTools, callTool] = requiredMethods.map((names) => findMethod(instance, names))
  if (getRouteConfig === undefined || listTools === undefined || callTool === undefined) {
    const missing = requiredMethods.filter((names) => findMethod(instance, names) === undefined)
    return Result.fail(`${name} lacks ${missing.map(([method, alias]) => `${method}() (or ${alias}())`).join(", ")}`)
  }
  return Result.succeed({ getRouteConfig, listTools, callTool, dispose: findMethod(instance, ["dispose"]) })
}
