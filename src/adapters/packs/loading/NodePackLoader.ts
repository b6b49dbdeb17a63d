import { Effect, Layer } from "effect"
import { type LoadedPack, PackLoader, type PackSource } from "../../../application/ports/packs/PackLoader.ts"
import { makeCompiler } from "../../ajv/schemaCompiler.ts"
import * as Guard from "./UncaughtErrorGuard.ts"
import * as IsolatedPack from "../isolation/IsolatedPack.ts"
import { makePackLog } from "./packLog.ts"
import * as Modules from "./ModuleLoader.ts"
import { startPack } from "../execution/PackRuntime.ts"

/**
 * Loads packs by Node, TypeScript as well as JavaScript, each time anew with all files of its own. Packs may import
 * `a2c-smcp/tools`, `effect` and `zod` without having them.
 *
 * A pack that is not isolated shares our thread: what it throws, anywhere, costs nobody but itself, but `process.exit`
 * and code that never ends are not to be stopped. An isolated one has a process, where both are, and where its memory
 * is bounded, all but that of buffers.
 */
export const layer: Layer.Layer<PackLoader> = Layer.effect(
  PackLoader,
  Effect.gen(function* () {
    const modules = yield* Modules.make
    const guard = yield* Guard.make
    const compile = makeCompiler()

    const loadInProcess = Effect.fnUntraced(function* (source: PackSource) {
      const log = yield* makePackLog(source.name)
      const enter = yield* guard.protect({
        folder: source.folder,
        onUncaught: (message) => log({ level: "Error", message: `uncaught error: ${message}`, fields: {} })
      })
      const module = yield* modules.load(source, enter)
      const running = yield* startPack(module, source, { enter, compile, log })
      return { ...running, exited: Effect.never } satisfies LoadedPack
    })

    return PackLoader.of({
      load: (source) => (source.isolated ? IsolatedPack.loadIsolated(source) : loadInProcess(source))
    })
  })
)
