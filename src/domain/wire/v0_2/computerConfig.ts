import { Record, Schema } from "effect"
import { ComputerConfig } from "../../config/computerConfig.ts"
import { type Codec, makeDecoder } from "../../validation.ts"

/** Encodes a configuration as in a file: with the bundle id of each server, and its name for people. */
export const toConfigFile = Schema.encodeSync(ComputerConfig)

/** The reply to `client:get_config`: servers go by their names. */
export const computerConfigCodec: Codec<ComputerConfig> = {
  schema: ComputerConfig,
  decode: makeDecoder(ComputerConfig),
  encode: (config) => {
    const { servers, ...rest } = toConfigFile(config)
    return { ...rest, servers: Record.map(servers, ({ bundle_id: _, ...server }, name) => ({ ...server, name })) }
  }
}
