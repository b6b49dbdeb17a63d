import { parseEnv } from "node:util"
import { ConfigProvider, Effect, FileSystem, type Layer } from "effect"

/** What may stand in a file `.env` (seed 004, environment); other programs have their own uses for such files. */
const allowedVariables = ["AUTOMATA_API_KEY", "HOST", "PORT", "TOOLS_DIR"]

/** Looks for settings of packs in the file `.env` of this folder, after the environment. */
export const layer: Layer.Layer<never, never, FileSystem.FileSystem> = ConfigProvider.layerAdd(
  Effect.gen(function* () {
    const { readFileString } = yield* FileSystem.FileSystem
    const text = yield* Effect.orElseSucceed(readFileString(".env"), () => "")
    const all = parseEnv(text)
    const env = Object.fromEntries(
      allowedVariables.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]] as const]))
    )
    return ConfigProvider.fromEnv({ env })
  })
)
