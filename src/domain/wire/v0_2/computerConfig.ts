import { Record } from "effect"
import { ComputerConfig, encodeReportedConfig, ReportedConfig, withoutLocalKeys } from "../../config/computerConfig.ts"
import { isJsonObject } from "../../json.ts"
import { type Codec, makeDecoder } from "../../validation.ts"

const decode = makeDecoder(ComputerConfig)

/** The reply to `client:get_config`: servers go by their names. */
export const computerConfigCodec: Codec<ComputerConfig> = {
  schema: ReportedConfig,
  // Fields of these names in the reply of another implementation may mean something else.
  decode: (wire) =>
    isJsonObject(wire) && isJsonObject(wire["servers"])
      ? decode({
          ...wire,
          servers: Record.map(wire["servers"], (server) => (isJsonObject(server) ? withoutLocalKeys(server) : server))
        })
      : decode(wire),
  encode: (config) => {
    const { servers, ...rest } = encodeReportedConfig(config)
    return { ...rest, servers: Record.map(servers, ({ bundle_id: _, ...server }, name) => ({ ...server, name })) }
  }
}
