import { parseEnv } from "node:util"
import { ConfigProvider, Effect, FileSystem, type Layer } from "effect"

/** The variables that are read from `.env` (seed 004, environment). Other programs use the same file. */
const allowedVariables = ["AUTOMATA_API_KEY", "HOST", "PORT", "TOOLS_DIR"]

/** Reads settings of packs from `.env` in the working directory; environment variables win. */
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
