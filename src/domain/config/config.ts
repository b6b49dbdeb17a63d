import type { Result } from "effect"
import { decoder } from "../explain.ts"
import { isJsonObject } from "../json.ts"
import { ComputerConfig } from "../protocol/v0_2/config.ts"

const decode = decoder(ComputerConfig)

const named = (servers: unknown): unknown =>
  isJsonObject(servers)
    ? Object.fromEntries(
        Object.entries(servers).map(([name, server]) => [
          name,
          isJsonObject(server) ? { name, ...server } : server
        ])
      )
    : servers

/**
 * Reads a Computer's configuration, `{inputs, servers}`, or says in one line what is wrong and where. A server may
 * leave out its `name`: the key it stands under is its name.
 */
export const readComputerConfig = (value: unknown): Result.Result<ComputerConfig, string> =>
  decode(isJsonObject(value) ? { ...value, servers: named(value["servers"]) } : value)
