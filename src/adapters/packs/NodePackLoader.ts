import { Effect, Layer } from "effect"
import { type LoadedPack, PackLoader, type PackSource } from "../../application/ports/packs/PackLoader.ts"
import { loadInterpreter } from "../jsonSchema/JsonSchemaValidator.ts"
import * as Guard from "./loading/UncaughtErrorGuard.ts"
import * as IsolatedPack from "./isolation/IsolatedPack.ts"
import * as Modules from "./loading/ModuleLoader.ts"
import { startPack } from "./PackRuntime.ts"
import { makeToolLog } from "../tools/toolLogger.ts"

/**
 * Loads packs with Node, TypeScript and JavaScript, with fresh modules on every load. Packs can import
 * `a2c-smcp/tools`, `effect` and `zod` without installing them.
 *
 * A pack without isolation shares the thread of the host: its errors are contained, but `process.exit` and infinite
 * loops are not. An isolated pack has its own process, with a limit on its heap, but not on its buffers.
 */
export const layer: Layer.Layer<PackLoader> = Layer.effect(
  PackLoader,
  Effect.gen(function* () {
    const modules = yield* Modules.make
    const guard = yield* Guard.make
    const compile = yield* loadInterpreter

    const loadInProcess = Effect.fnUntraced(function* (source: PackSource) {
      const log = yield* makeToolLog({ pack: source.name })
      const runLog = Effect.runSyncWith(yield* Effect.context())
      const enter = yield* guard.protect({
        folder: source.folder,
        onUncaught: (message) => log({ level: "Error", message: `uncaught error: ${message}`, fields: {} }),
        onExit: (code) => runLog(Effect.logError("pack ended the process", { pack: source.name, code }))
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
