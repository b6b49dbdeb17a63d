import { parseEnv } from "node:util"
import { ConfigProvider, Effect, FileSystem } from "effect"
import { definedOnly } from "../../domain/objects.ts"

/**
 * Reads settings of packs from `.env` in the working directory (seed 004, environment), and no others: other programs
 * use the same file. Environment variables win.
 */
export const layer = ConfigProvider.layerAdd(
  Effect.gen(function* () {
    const { readFileString } = yield* FileSystem.FileSystem
    const text = yield* Effect.orElseSucceed(readFileString(".env"), () => "")
    const { AUTOMATA_API_KEY, HOST, PORT, TOOLS_DIR } = parseEnv(text)
    return ConfigProvider.fromEnv({ env: definedOnly({ AUTOMATA_API_KEY, HOST, PORT, TOOLS_DIR }) })
  })
)
